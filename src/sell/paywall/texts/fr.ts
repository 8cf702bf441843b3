import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in French. */
export const fr: PaywallTexts = {
  heading: 'Paiement requis',
  price: 'Prix',
  onNetwork: '{amount} sur {network}',
  upTo: 'jusqu’à {amount}',
  testBadge: 'TEST : sans valeur réelle',
  details: 'Détails',
  item: 'Article',
  seller: 'Vendeur',
  paidTo: 'Payé à',
  address: 'Adresse de la page',
  noScript: 'Activez JavaScript pour payer.',
  cannotRepeat:
    'Vous êtes arrivé ici en envoyant un formulaire. Un paiement ne peut pas le renvoyer : il est donc impossible de payer sur cette page. Rien n’a été débité. Revenez en arrière ou demandez au vendeur comment payer.',
  choose: 'Mode de paiement',
  pay: 'Payer {amount}',
  payWith: 'Payer {amount} avec {wallet}',
  browserWallet: 'votre portefeuille',
  anotherAccount: 'Utiliser un autre compte',
  accountInWallet: 'Choisissez le compte dans {wallet}.',
  noWallet:
    'Pour payer, il vous faut un portefeuille crypto. Si ce navigateur en a un, déverrouillez-le et réessayez.',
  openIn: 'Ouvrez cette page dans l’application de votre portefeuille :',
  scan: 'Scannez ce code avec un téléphone qui a une application de portefeuille.',
  getWallet: 'Pas encore de portefeuille ? Installez-en un :',
  onRamp: 'Obtenir des {symbol}',
  signedWords:
    'Autorisation unique de payer exactement {amount} sur {network} à {seller} ({address}). Elle expire dans {minutes} minutes. Vous ne payez aucuns frais de réseau.',
  signedUpTo:
    'Autorisation unique de payer {amount} sur {network} à {seller} ({address}) : le vendeur prélève ce que vous avez utilisé. Elle expire dans {minutes} minutes. Vous ne payez aucuns frais de réseau.',
  permit2Words:
    'Ce jeton passe par Permit2 : si ce n’est pas déjà fait, votre portefeuille vous demande d’abord d’autoriser Permit2 à prélever {amount}. Sans votre signature, personne ne peut s’en servir.',
  approvalFee: 'Les frais de réseau de cette autorisation sont à votre charge.',
  connecting: 'Autorisez la connexion dans {wallet}.',
  switching: 'Passez à {network} dans {wallet}.',
  checkingBalance: 'Vérification de votre solde…',
  approving:
    'Autorisez Permit2 à prélever {amount} : confirmez dans {wallet}. Rien n’est encore payé.',
  revoking:
    'Retirez d’abord l’ancienne autorisation de Permit2, trop faible : confirmez dans {wallet}. Rien n’est encore payé.',
  approvalPending: 'En attente de la confirmation de votre autorisation par le réseau…',
  approvalFailed: 'L’autorisation n’a pas été confirmée. Rien n’a été payé.',
  approvalNeeded:
    'Permit2 n’est pas autorisé à prélever ce montant, et rien n’a été débité. Payez à nouveau : votre portefeuille vous demande d’abord cette autorisation.',
  signing: 'Signez dans {wallet}. Rien n’est payé avant.',
  verifying: 'Votre paiement a été envoyé au vendeur. En attente de la réponse…',
  settling:
    'Toujours en attente de la réponse. Elle arrive dès que le paiement est exécuté sur {network}.',
  pending:
    'Votre paiement a été accepté et n’est pas encore confirmé. Cette page continue de vérifier. Ne payez pas une deuxième fois.',
  receiving: 'Payé. Réception de votre achat…',
  paid: 'Payé. Voici votre achat :',
  free: 'Reçu. Le vendeur n’a signalé aucun débit.',
  saved: 'Payé. Le fichier a été enregistré sous {name}.',
  saveAgain: 'Enregistrer à nouveau le fichier',
  saveAsFile: 'Enregistrer comme fichier',
  tooLargeToShow:
    'La page est trop grande pour être affichée ici ; elle a été enregistrée comme fichier.',
  transaction: 'Voir la transaction',
  balanceTooLow:
    'Votre compte a {balance}. Il vous faut {amount} : ajoutez des fonds ou choisissez un autre compte.',
  faucet: 'Obtenir de l’argent de test',
  kept: 'Vous avez déjà autorisé ce paiement, mais son issue est inconnue. Continuez pour le terminer. Vous ne paierez pas deux fois.',
  presentAgain: 'Terminer mon achat (vous ne serez pas débité deux fois)',
  bought: 'Vous avez acheté ceci le {date}. Vous pouvez le revoir sans payer jusqu’au {until}.',
  boughtOnce:
    'Vous avez acheté ceci le {date}. Le serveur ne l’a pas conservé : il ne peut plus être affiché.',
  showAgain: 'L’afficher à nouveau',
  payAnew: 'Acheter à nouveau',
  remove: 'Retirer cet achat du navigateur',
  receipt: 'Reçu',
  number: 'Numéro',
  date: 'Date du paiement',
  amount: 'Montant',
  note: 'Remarque',
  payer: 'Payé par',
  transactionHash: 'Hash de la transaction',
  copy: 'Copier',
  copied: 'Copié',
  print: 'Imprimer',
  sellerFailed:
    'Le système du vendeur a échoué ({status}) et rien ne vous a été débité. Réessayez plus tard ou contactez le vendeur.',
  sellerFailedPaid:
    'Le vendeur a répondu par une erreur ({status}), mais le paiement a été exécuté. Contactez le vendeur et indiquez la transaction.',
  priceChanged: 'L’offre a changé. Rien n’a été débité. Vérifiez le prix avant de payer.',
  declined: 'Vous avez refusé dans le portefeuille. Rien n’a été payé.',
  walletFailed: 'Le portefeuille signale une erreur : {message}',
  unknownChain:
    'Le portefeuille ne connaît pas {network} (identifiant de chaîne {chainId}). Ajoutez ce réseau dans le portefeuille et réessayez.',
  noAccount:
    'Le portefeuille n’a partagé aucun compte. Déverrouillez-le, choisissez un compte et réessayez.',
  connectionLost:
    'La connexion a été coupée avant la réponse. Votre paiement est en sécurité : terminez votre achat, vous ne paierez pas deux fois.',
  insufficientFunds:
    'Le compte n’a pas assez de ce jeton. Ajoutez des fonds ou choisissez un autre compte, puis payez à nouveau.',
  alreadyUsed:
    'Ce paiement a déjà été utilisé. Si vous n’avez pas reçu votre achat, contactez le vendeur et indiquez la transaction. Sinon, faites un nouveau paiement.',
  lapsed: 'La signature a expiré et rien n’a été débité. Signez à nouveau.',
  clockWrong:
    'La signature n’est pas encore valable. Vérifiez l’horloge de votre appareil et payez à nouveau.',
  badSignature:
    'La signature ne vient pas de ce compte. Choisissez le compte dans le portefeuille et signez à nouveau.',
  contractAccount:
    'Ce vendeur n’accepte pas ce type de compte intelligent. Utilisez un compte ordinaire.',
  offerChanged: 'L’offre a changé et rien n’a été débité. Rechargez la page pour voir la nouvelle.',
  wrongSetup:
    'Le système du vendeur ne comprend pas ce paiement. Rien n’a été débité. Contactez le vendeur.',
  transferFailed:
    'Le jeton a refusé le transfert et rien n’a été débité. Vérifiez le compte dans le portefeuille ou payez autrement.',
  stillRunning:
    'Ce paiement est déjà en cours de traitement. Cette page continue de vérifier. Ne payez pas une deuxième fois.',
  payerBlocked:
    'L’opérateur du jeton a bloqué ce compte. Utilisez un autre compte ou un autre jeton.',
  sellerBlocked:
    'L’opérateur du jeton a bloqué le vendeur. Rien n’a été débité. Choisissez un autre jeton ou contactez le vendeur.',
  tokenPaused: 'L’opérateur du jeton l’a suspendu. Rien n’a été débité. Réessayez plus tard.',
  tryLater: 'Trop de tentatives. Rien n’a été débité. Attendez une minute et réessayez.',
  tooExpensive:
    'Le réseau est trop cher en ce moment. Rien n’a été débité. Réessayez plus tard ou choisissez un autre réseau.',
  unavailable:
    'Le vendeur ne peut pas recevoir de paiements en ce moment. Votre paiement est en sécurité : terminez votre achat dans quelques secondes.',
  answerGone:
    'Ce paiement a été exécuté, et sa réponse a déjà été envoyée et n’est plus conservée. Contactez le vendeur et indiquez la transaction.',
  answerTooLarge:
    'La réponse était trop grande pour être vendue. Rien n’a été débité. Contactez le vendeur.',
  checkoutPaid: 'Ce lien de paiement a été payé. Il n’est débité qu’une seule fois.',
  checkoutExpired:
    'Ce lien de paiement a expiré. Rien n’a été débité. Demandez-en un nouveau au vendeur.',
  checkoutCanceled: 'Le vendeur a annulé ce lien de paiement. Rien n’a été débité.',
  checkoutInProgress:
    'Quelqu’un d’autre paie ce lien en ce moment. Cette page continue de vérifier : votre paiement n’est pris que si l’autre échoue.',
  checkoutThanks: 'Merci. Vous avez payé {amount} à {seller}.',
  backToSeller: 'Retour à {seller}',
  notAvailable: 'Indisponible',
  closed:
    'Le vendeur ne peut pas recevoir de paiements pour cette page en ce moment. Rien n’a été débité.',
  redeemLater:
    'Votre achat ne peut pas être envoyé en ce moment. Votre paiement n’est pas perdu : revenez plus tard et ne payez pas une deuxième fois.',
  waitFirst: 'Attendez {time} avant de réessayer.',
  tryAgain: 'Réessayer',
}
