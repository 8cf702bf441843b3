import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in Spanish. */
export const es: PaywallTexts = {
  heading: 'Se requiere un pago',
  price: 'Precio',
  onNetwork: '{amount} en {network}',
  upTo: 'hasta {amount}',
  testBadge: 'PRUEBA: no es dinero real',
  details: 'Detalles',
  item: 'Artículo',
  seller: 'Vendedor',
  paidTo: 'Se paga a',
  address: 'Página',
  noScript: 'Active JavaScript para pagar.',
  cannotRepeat:
    'Ha llegado aquí al enviar un formulario. Un pago no puede volver a enviarlo, así que no se puede pagar en esta página. No se ha cobrado nada. Vuelva atrás o pregunte al vendedor cómo pagar.',
  choose: 'Forma de pago',
  pay: 'Pagar {amount}',
  payWith: 'Pagar {amount} con {wallet}',
  browserWallet: 'su billetera',
  anotherAccount: 'Usar otra cuenta',
  accountInWallet: 'Elija la cuenta en {wallet}.',
  noWallet:
    'Para pagar necesita una billetera de criptomonedas. Si este navegador tiene una, desbloquéela e inténtelo de nuevo.',
  openIn: 'Abra esta página en la aplicación de su billetera:',
  scan: 'Escanee este código con un teléfono que tenga una aplicación de billetera.',
  getWallet: '¿Aún no tiene billetera? Instale una:',
  onRamp: 'Obtener {symbol}',
  signedWords:
    'Autorización única para pagar exactamente {amount} en {network} a {seller} ({address}). Caduca en {minutes} minutos. Usted no paga comisión de red.',
  signedUpTo:
    'Autorización única para pagar {amount} en {network} a {seller} ({address}): el vendedor cobra lo que usted haya usado. Caduca en {minutes} minutos. Usted no paga comisión de red.',
  permit2Words:
    'Este token se mueve mediante Permit2: si aún no lo ha hecho, su cartera le pide primero que permita a Permit2 tomar {amount}. Sin su firma, nadie puede usarlo.',
  approvalFee: 'La comisión de red de ese permiso la paga usted.',
  connecting: 'Permita la conexión en {wallet}.',
  switching: 'Cambie a {network} en {wallet}.',
  checkingBalance: 'Comprobando su saldo…',
  approving: 'Permita que Permit2 tome {amount}: confirme en {wallet}. Todavía no se paga nada.',
  revoking:
    'Retire primero el permiso anterior, menor, de Permit2: confirme en {wallet}. Todavía no se paga nada.',
  approvalPending: 'Esperando a que la red confirme su permiso…',
  approvalFailed: 'El permiso no se confirmó. No se ha pagado nada.',
  approvalNeeded:
    'Permit2 no tiene permiso para tomar este importe y no se ha cobrado nada. Pague de nuevo: su cartera le pide primero ese permiso.',
  signing: 'Firme en {wallet}. Antes de eso no se paga nada.',
  verifying: 'Su pago se ha enviado al vendedor. Esperando la respuesta…',
  settling: 'Seguimos esperando la respuesta. Llega cuando el pago se ha ejecutado en {network}.',
  pending:
    'Su pago se ha enviado y aún no está confirmado. Esta página sigue preguntando. No pague otra vez.',
  receiving: 'Pagado. Recibiendo su compra…',
  paid: 'Pagado. Esto es lo que ha comprado:',
  free: 'Recibido. El vendedor no ha comunicado ningún cobro.',
  saved: 'Pagado. El archivo se ha guardado como {name}.',
  saveAgain: 'Guardar el archivo otra vez',
  saveAsFile: 'Guardar como archivo',
  tooLargeToShow:
    'La página es demasiado grande para mostrarla aquí y se ha guardado como archivo.',
  transaction: 'Ver la transacción',
  balanceTooLow: 'Su cuenta tiene {balance}. Necesita {amount}: añada fondos o elija otra cuenta.',
  faucet: 'Obtener dinero de prueba',
  kept: 'Ya ha autorizado este pago, pero no se conoce su resultado. Continúe para completarlo. No pagará dos veces.',
  presentAgain: 'Completar mi compra (no se le cobrará dos veces)',
  bought: 'Lo compró el {date}. Puede verlo otra vez sin pagar hasta el {until}.',
  boughtOnce:
    'Lo compró el {date}. El servidor no lo ha conservado, así que no se puede mostrar otra vez.',
  showAgain: 'Mostrarla otra vez',
  payAnew: 'Comprar de nuevo',
  remove: 'Quitar esta compra del navegador',
  receipt: 'Recibo',
  number: 'Número',
  date: 'Fecha',
  amount: 'Importe',
  note: 'Nota',
  payer: 'Pagado por',
  transactionHash: 'Transacción',
  copy: 'Copiar',
  copied: 'Copiado',
  print: 'Imprimir',
  sellerFailed:
    'El sistema del vendedor ha fallado ({status}) y no se le ha cobrado nada. Inténtelo más tarde o contacte con el vendedor.',
  sellerFailedPaid:
    'El vendedor ha respondido con un error ({status}), pero el pago se ha ejecutado. Contacte con el vendedor e indique la transacción.',
  priceChanged: 'La oferta ha cambiado. No se ha cobrado nada. Compruebe el precio antes de pagar.',
  declined: 'Ha rechazado la petición en la billetera. No se ha pagado nada.',
  walletFailed: 'La billetera comunica un error: {message}',
  unknownChain:
    'La billetera no conoce {network} (identificador de cadena {chainId}). Añádala en la billetera e inténtelo de nuevo.',
  noAccount:
    'La billetera no ha compartido ninguna cuenta. Desbloquéela, elija una cuenta e inténtelo de nuevo.',
  connectionLost:
    'La conexión se perdió antes de que llegara la respuesta. Su pago está a salvo: complete su compra y no pagará dos veces.',
  insufficientFunds:
    'La cuenta no tiene suficiente de este token. Añada fondos o elija otra cuenta y pague de nuevo.',
  alreadyUsed:
    'Este pago ya se ha utilizado. Si no ha recibido su compra, contacte con el vendedor e indique la transacción. Si no, haga un pago nuevo.',
  lapsed: 'La firma ha caducado y no se ha cobrado nada. Firme de nuevo.',
  clockWrong: 'La firma aún no es válida. Compruebe el reloj de su dispositivo y pague de nuevo.',
  badSignature: 'La firma no es de esta cuenta. Elija la cuenta en la billetera y firme de nuevo.',
  contractAccount:
    'Este vendedor no acepta pagos de cuentas inteligentes de este tipo. Use una cuenta normal.',
  offerChanged:
    'La oferta ha cambiado y no se ha cobrado nada. Vuelva a cargar la página para ver la nueva.',
  wrongSetup:
    'El sistema del vendedor no entiende este pago. No se ha cobrado nada. Contacte con el vendedor.',
  transferFailed:
    'El token ha rechazado la transferencia y no se ha cobrado nada. Compruebe la cuenta en la billetera o pague de otra forma.',
  stillRunning:
    'Este pago ya se está procesando. Esta página sigue preguntando. No pague otra vez.',
  payerBlocked: 'El operador del token ha bloqueado esta cuenta. Use otra cuenta u otro token.',
  sellerBlocked:
    'El operador del token ha bloqueado al vendedor. No se ha cobrado nada. Elija otro token o contacte con el vendedor.',
  tokenPaused: 'El operador del token lo ha pausado. No se ha cobrado nada. Inténtelo más tarde.',
  tryLater: 'Demasiados intentos. No se ha cobrado nada. Espere un minuto e inténtelo de nuevo.',
  tooExpensive:
    'La red es demasiado cara en este momento. No se ha cobrado nada. Inténtelo más tarde o elija otra red.',
  unavailable:
    'El vendedor no puede aceptar pagos en este momento. Su pago está a salvo: complete su compra en unos segundos.',
  answerGone:
    'Este pago se ejecutó y la respuesta se envió una vez. Ya no se conserva. Contacte con el vendedor e indique la transacción.',
  answerTooLarge:
    'La respuesta era demasiado grande para venderla. No se ha cobrado nada. Contacte con el vendedor.',
  checkoutPaid: 'Este enlace de pago ya está pagado. Solo se cobra una vez.',
  checkoutExpired:
    'Este enlace de pago ha caducado. No se ha cobrado nada. Pida uno nuevo al vendedor.',
  checkoutCanceled: 'El vendedor ha cancelado este enlace de pago. No se ha cobrado nada.',
  checkoutInProgress:
    'Otra persona está pagando este enlace ahora mismo. Esta página sigue comprobando: su pago solo se acepta si el otro falla.',
  checkoutThanks: 'Gracias. Ha pagado {amount} a {seller}.',
  backToSeller: 'Volver a {seller}',
  notAvailable: 'No disponible',
  closed:
    'El vendedor no puede aceptar pagos por esta página en este momento. No se ha cobrado nada.',
  redeemLater:
    'Lo que ha pagado no se puede enviar en este momento. Su pago no se ha perdido: vuelva más tarde y no pague otra vez.',
  waitFirst: 'Espere {time} antes de volver a intentarlo.',
  tryAgain: 'Intentarlo de nuevo',
}
