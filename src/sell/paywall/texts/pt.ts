import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in Portuguese. */
export const pt: PaywallTexts = {
  heading: 'Pagamento necessário',
  price: 'Preço',
  onNetwork: '{amount} em {network}',
  upTo: 'até {amount}',
  testBadge: 'TESTE: não é dinheiro real',
  details: 'Detalhes',
  item: 'Produto',
  seller: 'Vendedor',
  paidTo: 'Pago a',
  address: 'Página',
  noScript: 'Ative o JavaScript para pagar.',
  cannotRepeat:
    'Você chegou aqui ao enviar um formulário. Um pagamento não pode enviá-lo de novo, por isso não é possível pagar nesta página. Nada foi cobrado. Volte ou pergunte ao vendedor como pagar.',
  choose: 'Forma de pagamento',
  pay: 'Pagar {amount}',
  payWith: 'Pagar {amount} com {wallet}',
  browserWallet: 'sua carteira',
  anotherAccount: 'Usar outra conta',
  accountInWallet: 'Escolha a conta em {wallet}.',
  noWallet:
    'Para pagar, você precisa de uma carteira de criptomoedas. Se este navegador tiver uma, desbloqueie-a e tente de novo.',
  openIn: 'Abra esta página no aplicativo da sua carteira:',
  scan: 'Escaneie este código com um telefone que tenha um aplicativo de carteira.',
  getWallet: 'Ainda não tem carteira? Instale uma:',
  onRamp: 'Obter {symbol}',
  signedWords:
    'Autorização única para pagar exatamente {amount} em {network} a {seller} ({address}). Expira em {minutes} minutos. Você não paga taxa de rede.',
  signedUpTo:
    'Autorização única para pagar {amount} em {network} a {seller} ({address}): o vendedor cobra o que você usou. Expira em {minutes} minutos. Você não paga taxa de rede.',
  permit2Words:
    'Este token é movido pelo Permit2: se ainda não o fez, sua carteira pede primeiro que você permita ao Permit2 retirar {amount}. Sem a sua assinatura, ninguém pode usar isso.',
  approvalFee: 'A taxa de rede dessa permissão é paga por você.',
  connecting: 'Permita a conexão em {wallet}.',
  switching: 'Mude para {network} em {wallet}.',
  checkingBalance: 'Verificando seu saldo…',
  approving: 'Permita que o Permit2 retire {amount}: confirme em {wallet}. Nada é pago ainda.',
  revoking:
    'Retire primeiro a permissão anterior, menor, do Permit2: confirme em {wallet}. Nada é pago ainda.',
  approvalPending: 'Aguardando a rede confirmar a sua permissão…',
  approvalFailed: 'A permissão não foi confirmada. Nada foi pago.',
  approvalNeeded:
    'O Permit2 não tem permissão para retirar este valor, e nada foi cobrado. Pague de novo: sua carteira pede primeiro essa permissão.',
  signing: 'Assine em {wallet}. Nada é pago antes disso.',
  verifying: 'Seu pagamento foi enviado ao vendedor. Aguardando a resposta…',
  settling: 'Ainda aguardando a resposta. Ela chega quando o pagamento for executado em {network}.',
  pending:
    'Seu pagamento foi aceito e ainda não está confirmado. Esta página continua verificando. Não pague de novo.',
  receiving: 'Pago. Recebendo sua compra…',
  paid: 'Pago. Isto é o que você comprou:',
  free: 'Recebido. O vendedor não informou nenhuma cobrança.',
  saved: 'Pago. O arquivo foi salvo como {name}.',
  saveAgain: 'Salvar o arquivo de novo',
  saveAsFile: 'Salvar como arquivo',
  tooLargeToShow: 'A página é grande demais para ser mostrada aqui e foi salva como arquivo.',
  transaction: 'Ver a transação',
  balanceTooLow:
    'Sua conta tem {balance}. Você precisa de {amount}: adicione fundos ou escolha outra conta.',
  faucet: 'Obter dinheiro de teste',
  kept: 'Você já autorizou este pagamento, mas o resultado é desconhecido. Continue para concluí-lo. Você não pagará duas vezes.',
  presentAgain: 'Concluir minha compra (você não será cobrado duas vezes)',
  bought: 'Você comprou isto em {date}. Pode ver de novo sem pagar até {until}.',
  boughtOnce:
    'Você comprou isto em {date}. O servidor não o guardou, por isso não pode ser mostrado de novo.',
  showAgain: 'Mostrar de novo',
  payAnew: 'Comprar de novo',
  remove: 'Remover esta compra do navegador',
  receipt: 'Recibo',
  number: 'Número',
  date: 'Data',
  amount: 'Valor',
  note: 'Observação',
  payer: 'Pago por',
  transactionHash: 'Hash da transação',
  copy: 'Copiar',
  copied: 'Copiado',
  print: 'Imprimir',
  sellerFailed:
    'O sistema do vendedor falhou ({status}) e nada foi cobrado. Tente mais tarde ou entre em contato com o vendedor.',
  sellerFailedPaid:
    'O vendedor respondeu com um erro ({status}), mas o pagamento foi executado. Entre em contato com o vendedor e informe a transação.',
  priceChanged: 'A oferta mudou. Nada foi cobrado. Confira o preço antes de pagar.',
  declined: 'Você recusou na carteira. Nada foi pago.',
  walletFailed: 'A carteira informou um erro: {message}',
  unknownChain:
    'A carteira não conhece {network} (id da rede {chainId}). Adicione a rede na carteira e tente de novo.',
  noAccount:
    'A carteira não compartilhou nenhuma conta. Desbloqueie-a, escolha uma conta e tente de novo.',
  connectionLost:
    'A conexão caiu antes de a resposta chegar. Seu pagamento está seguro: conclua sua compra e não pagará duas vezes.',
  insufficientFunds:
    'A conta não tem o suficiente deste token. Adicione fundos ou escolha outra conta e pague de novo.',
  alreadyUsed:
    'Este pagamento já foi usado. Se você não recebeu sua compra, entre em contato com o vendedor e informe a transação. Caso contrário, faça um novo pagamento.',
  lapsed: 'A assinatura expirou e nada foi cobrado. Assine de novo.',
  clockWrong:
    'A assinatura ainda não é válida. Verifique o relógio do seu dispositivo e pague de novo.',
  badSignature: 'A assinatura não é desta conta. Escolha a conta na carteira e assine de novo.',
  contractAccount: 'Este vendedor não aceita este tipo de conta inteligente. Use uma conta comum.',
  offerChanged: 'A oferta mudou e nada foi cobrado. Recarregue a página para ver a nova.',
  wrongSetup:
    'O sistema do vendedor não entende este pagamento. Nada foi cobrado. Entre em contato com o vendedor.',
  transferFailed:
    'O token recusou a transferência e nada foi cobrado. Verifique a conta na carteira ou pague de outra forma.',
  stillRunning:
    'Este pagamento já está sendo processado. Esta página continua verificando. Não pague de novo.',
  payerBlocked: 'O operador do token bloqueou esta conta. Use outra conta ou outro token.',
  sellerBlocked:
    'O operador do token bloqueou o vendedor. Nada foi cobrado. Escolha outro token ou entre em contato com o vendedor.',
  tokenPaused: 'O operador do token o suspendeu. Nada foi cobrado. Tente mais tarde.',
  tryLater: 'Tentativas demais. Nada foi cobrado. Espere um minuto e tente de novo.',
  tooExpensive:
    'A rede está cara demais no momento. Nada foi cobrado. Tente mais tarde ou escolha outra rede.',
  unavailable:
    'O vendedor não pode receber pagamentos no momento. Seu pagamento está seguro: conclua sua compra em alguns segundos.',
  answerGone:
    'Este pagamento foi executado, e a resposta já foi enviada e não está mais guardada. Entre em contato com o vendedor e informe a transação.',
  answerTooLarge:
    'A resposta era grande demais para ser vendida. Nada foi cobrado. Entre em contato com o vendedor.',
  checkoutPaid: 'Este link de pagamento já foi pago. Só é cobrado uma vez.',
  checkoutExpired: 'Este link de pagamento expirou. Nada foi cobrado. Peça um novo ao vendedor.',
  checkoutCanceled: 'O vendedor cancelou este link de pagamento. Nada foi cobrado.',
  checkoutInProgress:
    'Outra pessoa está pagando este link agora. Esta página continua verificando: seu pagamento só será aceito se o outro falhar.',
  checkoutThanks: 'Obrigado. Você pagou {amount} a {seller}.',
  backToSeller: 'Voltar para {seller}',
  notAvailable: 'Indisponível',
  closed: 'O vendedor não pode receber pagamentos por esta página no momento. Nada foi cobrado.',
  redeemLater:
    'Sua compra não pode ser enviada no momento. Seu pagamento não se perdeu: volte mais tarde e não pague de novo.',
  waitFirst: 'Espere {time} antes de tentar de novo.',
  tryAgain: 'Tentar de novo',
}
