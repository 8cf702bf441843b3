import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in English. */
export const en: PaywallTexts = {
  heading: 'Payment required',
  price: 'Price',
  inTokens: 'You pay',
  network: 'Network',
  testNetwork: 'test network, its money has no value',
  seller: 'Seller',
  paidTo: 'Paid to',
  address: 'Page',
  noScript:
    'To pay in this browser, turn on JavaScript for this page. Programs pay with any x402 client: the offer is in the header PAYMENT-REQUIRED of this response.',
  cannotRepeat:
    'You came here by sending a form. A payment cannot send it again, so it cannot be paid for on this page. Nothing was charged. Go back, or ask the seller how to pay.',
  choose: 'How to pay',
  payWith: 'Pay {amount} with {wallet}',
  browserWallet: 'the wallet of this browser',
  noWallet:
    'No wallet was found in this browser. Install one or unlock it, and load this page again.',
  loadAgain: 'Load the page again',
  openIn: 'Open this page in the app of your wallet:',
  whatYouSign: 'What you will sign',
  signedWords:
    'One transfer of {amount} on {network} to {seller} ({address}). The signature works once, is valid for {minutes} minutes, and allows nothing else. You pay no network fee.',
  connecting: 'Allow the connection in {wallet}.',
  switching: 'Switch to {network} in {wallet}.',
  checkingBalance: 'Checking your balance…',
  signing: 'Sign in {wallet}. Nothing is paid before you do.',
  verifying: 'Your payment was sent to the seller. Waiting for the response…',
  settling: 'Still waiting for the response. It comes once the payment is settled on {network}.',
  pending:
    'Your payment was accepted and is not confirmed yet. This page keeps asking. Do not pay again.',
  receiving: 'Paid. Receiving what you bought…',
  paid: 'Paid. This is what you bought:',
  saved: 'Paid. The file was saved as {name}.',
  saveAgain: 'Save the file again',
  tooLargeToShow: 'The page is too large to be shown here, so it was saved as a file.',
  transaction: 'Look at the transaction',
  balanceTooLow:
    'Your account has {balance}. You need {amount}: add funds, or choose another account.',
  faucet: 'Get test money',
  kept: 'A payment for this page was signed in this tab, and its outcome is not known here. Present it again: you will not pay twice.',
  presentAgain: 'Present the payment again',
  bought: 'You have paid for this page in this tab. You can see it again without paying.',
  showAgain: 'Show it again',
  payAnew: 'Pay again for a new copy',
  sellerFailed: 'The seller responded with an error ({status}) and did not charge you.',
  sellerFailedPaid:
    'The seller responded with an error ({status}), but the payment was settled. Contact the seller and name the transaction.',
  priceChanged: 'The offer has changed. Nothing was charged. Check the price before you pay.',
  declined: 'You declined in the wallet. Nothing was paid.',
  walletFailed: 'The wallet reports an error: {message}',
  unknownChain:
    'The wallet does not know {network} (chain id {chainId}). Add it in the wallet, and try again.',
  noAccount: 'The wallet has shared no account. Unlock it, choose an account, and try again.',
  connectionLost:
    'The connection was lost before the response came. Your payment is kept: present it again, and you will not pay twice.',
  insufficientFunds:
    'The account does not have enough of this token. Add funds or choose another account, and pay again.',
  alreadyUsed:
    'This payment was already used. If you did not receive what you bought, contact the seller and name the transaction. Otherwise make a new payment.',
  lapsed: 'The signature has expired, and nothing was charged. Sign again.',
  clockWrong: 'The signature is not valid yet. Check the clock of your device, and pay again.',
  badSignature:
    'The signature is not from this account. Choose the account in the wallet, and sign again.',
  contractAccount:
    'This seller takes no payments from smart accounts of this kind. Use an ordinary account.',
  offerChanged:
    'The offer has changed, and nothing was charged. Load the page again to see the new one.',
  wrongSetup:
    'The seller’s system does not understand this payment. Nothing was charged. Contact the seller.',
  transferFailed:
    'The token refused the transfer, and nothing was charged. Check the account in the wallet, or pay in another way.',
  stillRunning:
    'This payment is being processed already. This page keeps asking. Do not pay again.',
  payerBlocked: 'The operator of the token has blocked this account. Use another account or token.',
  sellerBlocked:
    'The operator of the token has blocked the seller. Nothing was charged. Choose another token, or contact the seller.',
  tokenPaused: 'The operator of the token has paused it. Nothing was charged. Try again later.',
  tryLater: 'Too many attempts. Nothing was charged. Wait a minute, and try again.',
  tooExpensive:
    'The network is too expensive at the moment. Nothing was charged. Try again later, or choose another network.',
  unavailable:
    'The seller cannot take payments at the moment. Your payment is kept: present it again in a few seconds.',
  answerGone:
    'This payment was settled and the response was sent once. It is not kept any more. Contact the seller and name the transaction.',
  answerTooLarge: 'The response was too large to be sold. Nothing was charged. Contact the seller.',
  notAvailable: 'Not available',
  closed: 'The seller cannot take payments for this page at the moment. Nothing was charged.',
  redeemLater:
    'What you have paid for cannot be sent at the moment. Your payment is not lost: come back later, and do not pay again.',
  waitFirst: 'Wait {time} before you try again.',
  tryAgain: 'Try again',
}
