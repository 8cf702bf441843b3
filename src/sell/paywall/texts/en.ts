import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in English. */
export const en: PaywallTexts = {
  heading: 'Payment required',
  price: 'Price',
  onNetwork: '{amount} on {network}',
  upTo: 'up to {amount}',
  testBadge: 'TEST: no real money',
  details: 'Details',
  item: 'Item',
  seller: 'Seller',
  paidTo: 'Paid to',
  address: 'Page',
  noScript: 'Turn on JavaScript to pay.',
  cannotRepeat:
    'You came here by submitting a form, which a payment cannot submit again. You cannot pay for it on this page. Nothing was charged. Go back, or ask the seller how to pay.',
  choose: 'How to pay',
  pay: 'Pay {amount}',
  payWith: 'Pay {amount} with {wallet}',
  browserWallet: 'your wallet',
  anotherAccount: 'Use another account',
  accountInWallet: 'Choose the account in {wallet}.',
  noWallet: 'To pay, you need a crypto wallet. If this browser has one, unlock it and try again.',
  openIn: 'Open this page in your wallet app:',
  scan: 'Scan this code with a phone that has a wallet app.',
  getWallet: 'No wallet yet? Install one:',
  onRamp: 'Get {symbol}',
  signedWords:
    'One-time approval to pay exactly {amount} on {network} to {seller} ({address}). It expires in {minutes} minutes. You pay no network fee.',
  signedUpTo:
    'Approval to pay {amount} on {network} to {seller} ({address}), once: the seller takes what you used. It expires in {minutes} minutes. You pay no network fee.',
  permit2Words:
    'This token is moved by Permit2: if you have not done so before, your wallet first asks you to allow Permit2 to take {amount}. Without your signature, nobody can use that.',
  approvalFee: 'You pay the network fee of that approval.',
  connecting: 'Allow the connection in {wallet}.',
  switching: 'Switch to {network} in {wallet}.',
  checkingBalance: 'Checking your balance…',
  approving: 'Allow Permit2 to take {amount}: confirm in {wallet}. Nothing is paid yet.',
  revoking:
    'Withdraw the earlier, smaller allowance of Permit2 first: confirm in {wallet}. Nothing is paid yet.',
  approvalPending: 'Waiting until the network has confirmed your approval…',
  approvalFailed: 'The approval was not confirmed. Nothing was paid.',
  approvalNeeded:
    'Permit2 is not allowed to take this amount, and nothing was charged. Pay again: your wallet asks you to allow it first.',
  signing: 'Sign in {wallet}. Nothing is paid before you do.',
  verifying: 'Your payment was sent to the seller. Waiting for the response…',
  settling: 'Still waiting for the response. It arrives once the payment is settled on {network}.',
  pending:
    'Your payment was accepted and is not confirmed yet. This page keeps checking. Do not pay again.',
  receiving: 'Paid. Receiving what you bought…',
  paid: 'Paid. This is what you bought:',
  free: 'Received. The seller reported no charge.',
  saved: 'Paid. The file was saved as {name}.',
  saveAgain: 'Save the file again',
  saveAsFile: 'Save as a file',
  tooLargeToShow: 'The page is too large to show here, so it was saved as a file.',
  transaction: 'View transaction',
  balanceTooLow:
    'Your account has {balance}. You need {amount}: add funds or choose another account.',
  faucet: 'Get test money',
  kept: 'You already approved this payment, but its outcome is unknown. Continue to finish it. You will not pay twice.',
  presentAgain: 'Finish my purchase (you will not be charged twice)',
  bought: 'You bought this on {date}. You can see it again without paying until {until}.',
  boughtOnce: 'You bought this on {date}. The server did not keep it, so it cannot be shown again.',
  showAgain: 'Show it again',
  payAnew: 'Buy again',
  remove: 'Remove this purchase from the browser',
  receipt: 'Receipt',
  number: 'Number',
  date: 'Date',
  amount: 'Amount',
  note: 'Note',
  payer: 'Paid by',
  transactionHash: 'Transaction hash',
  copy: 'Copy',
  copied: 'Copied',
  print: 'Print',
  sellerFailed:
    "The seller's system failed ({status}), and you were not charged. Try again later, or contact the seller.",
  sellerFailedPaid:
    'The seller responded with an error ({status}), but the payment was settled. Contact the seller and include the transaction.',
  priceChanged: 'The offer has changed. Nothing was charged. Check the price before you pay.',
  declined: 'You declined in the wallet. Nothing was paid.',
  walletFailed: 'The wallet reported an error: {message}',
  unknownChain:
    'The wallet does not know {network} (chain id {chainId}). Add it in the wallet and try again.',
  noAccount: 'The wallet did not share an account. Unlock it, choose an account, and try again.',
  connectionLost:
    'The connection broke before the response arrived. Your payment is safe: finish your purchase, and you will not pay twice.',
  insufficientFunds:
    'The account does not have enough of this token. Add funds or choose another account, and pay again.',
  alreadyUsed:
    'This payment was already used. If you did not receive your purchase, contact the seller and include the transaction. Otherwise make a new payment.',
  lapsed: 'The signature has expired, and nothing was charged. Sign again.',
  clockWrong: 'The signature is not valid yet. Check the clock of your device, and pay again.',
  badSignature:
    'The signature is not from this account. Choose the account in the wallet, and sign again.',
  contractAccount:
    'This seller does not accept this kind of smart account. Use an ordinary account.',
  offerChanged:
    'The offer has changed, and nothing was charged. Reload the page to see the new one.',
  wrongSetup:
    'The seller’s system does not understand this payment. Nothing was charged. Contact the seller.',
  transferFailed:
    'The token refused the transfer, and nothing was charged. Check the account in the wallet, or pay in another way.',
  stillRunning:
    'This payment is already being processed. This page keeps checking. Do not pay again.',
  payerBlocked: 'The operator of the token has blocked this account. Use another account or token.',
  sellerBlocked:
    'The operator of the token has blocked the seller. Nothing was charged. Choose another token, or contact the seller.',
  tokenPaused: 'The operator of the token has paused it. Nothing was charged. Try again later.',
  tryLater: 'Too many attempts. Nothing was charged. Wait a minute and try again.',
  tooExpensive:
    'The network is too expensive at the moment. Nothing was charged. Try again later, or choose another network.',
  unavailable:
    'The seller cannot take payments at the moment. Your payment is safe: finish your purchase in a few seconds.',
  answerGone:
    'This payment was settled, and its response was already sent and is no longer stored. Contact the seller and include the transaction.',
  answerTooLarge: 'The response was too large to sell. Nothing was charged. Contact the seller.',
  checkoutPaid: 'This payment link has been paid. It is charged only once.',
  checkoutExpired:
    'This payment link has expired. Nothing was charged. Ask the seller for a new one.',
  checkoutCanceled: 'The seller has canceled this payment link. Nothing was charged.',
  checkoutInProgress:
    'Somebody else is paying this link right now. This page keeps checking: your payment is only taken if the other one fails.',
  checkoutThanks: 'Thank you. You paid {amount} to {seller}.',
  backToSeller: 'Back to {seller}',
  notAvailable: 'Not available',
  closed: 'The seller cannot take payments for this page at the moment. Nothing was charged.',
  redeemLater:
    'Your purchase cannot be sent at the moment. Your payment is not lost: come back later and do not pay again.',
  waitFirst: 'Wait {time} before you try again.',
  tryAgain: 'Try again',
}
