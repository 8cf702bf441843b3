import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in German. */
export const de: PaywallTexts = {
  heading: 'Zahlung erforderlich',
  price: 'Preis',
  onNetwork: '{amount} auf {network}',
  upTo: 'bis zu {amount}',
  testBadge: 'TEST: kein echtes Geld',
  details: 'Einzelheiten',
  item: 'Artikel',
  seller: 'Verkäufer',
  paidTo: 'Gezahlt an',
  address: 'Seite',
  noScript: 'Schalten Sie JavaScript ein, um zu zahlen.',
  cannotRepeat:
    'Sie sind durch das Absenden eines Formulars hierher gekommen. Eine Zahlung kann es nicht noch einmal absenden, daher kann es auf dieser Seite nicht bezahlt werden. Es wurde nichts abgebucht. Gehen Sie zurück oder fragen Sie den Verkäufer.',
  choose: 'Zahlungsart',
  pay: '{amount} zahlen',
  payWith: '{amount} mit {wallet} zahlen',
  browserWallet: 'Ihrer Wallet',
  anotherAccount: 'Anderes Konto verwenden',
  accountInWallet: 'Wählen Sie das Konto in {wallet}.',
  noWallet:
    'Zum Zahlen brauchen Sie eine Krypto-Wallet. Falls dieser Browser eine hat, entsperren Sie sie und versuchen Sie es noch einmal.',
  openIn: 'Öffnen Sie diese Seite in Ihrer Wallet-App:',
  scan: 'Scannen Sie diesen Code mit einem Telefon, das eine Wallet-App hat.',
  getWallet: 'Noch keine Wallet? Installieren Sie eine:',
  onRamp: '{symbol} kaufen',
  signedWords:
    'Einmalige Freigabe, genau {amount} auf {network} an {seller} ({address}) zu zahlen. Sie läuft nach {minutes} Minuten ab. Sie zahlen keine Netzwerkgebühr.',
  signedUpTo:
    'Einmalige Freigabe, {amount} auf {network} an {seller} ({address}) zu zahlen: Abgebucht wird, was Sie verbraucht haben. Sie läuft nach {minutes} Minuten ab. Sie zahlen keine Netzwerkgebühr.',
  permit2Words:
    'Dieses Token wird von Permit2 bewegt: Falls noch nicht geschehen, fragt Ihre Wallet zuerst, ob Permit2 {amount} nehmen darf. Ohne Ihre Unterschrift kann das niemand nutzen.',
  approvalFee: 'Die Netzwerkgebühr dieser Erlaubnis zahlen Sie.',
  connecting: 'Erlauben Sie die Verbindung in {wallet}.',
  switching: 'Wechseln Sie in {wallet} zu {network}.',
  checkingBalance: 'Ihr Guthaben wird geprüft …',
  approving:
    'Erlauben Sie Permit2, {amount} zu nehmen: Bestätigen Sie in {wallet}. Noch wird nichts gezahlt.',
  revoking:
    'Nehmen Sie zuerst die frühere, kleinere Erlaubnis für Permit2 zurück: Bestätigen Sie in {wallet}. Noch wird nichts gezahlt.',
  approvalPending: 'Warten, bis das Netzwerk Ihre Freigabe bestätigt hat …',
  approvalFailed: 'Die Freigabe wurde nicht bestätigt. Es wurde nichts gezahlt.',
  approvalNeeded:
    'Permit2 darf diesen Betrag nicht nehmen, und es wurde nichts abgebucht. Zahlen Sie erneut: Ihre Wallet fragt zuerst nach dieser Erlaubnis.',
  signing: 'Unterschreiben Sie in {wallet}. Vorher wird nichts gezahlt.',
  verifying: 'Ihre Zahlung wurde an den Verkäufer gesendet. Die Antwort wird erwartet …',
  settling:
    'Die Antwort wird noch erwartet. Sie kommt, sobald die Zahlung auf {network} ausgeführt ist.',
  pending:
    'Ihre Zahlung wurde gesendet und ist noch nicht bestätigt. Diese Seite fragt weiter nach. Zahlen Sie nicht noch einmal.',
  receiving: 'Bezahlt. Ihr Kauf wird empfangen …',
  paid: 'Bezahlt. Das haben Sie gekauft:',
  free: 'Erhalten. Der Verkäufer hat keine Abbuchung gemeldet.',
  saved: 'Bezahlt. Die Datei wurde als {name} gespeichert.',
  saveAgain: 'Datei noch einmal speichern',
  saveAsFile: 'Als Datei speichern',
  tooLargeToShow:
    'Die Seite ist zu groß, um hier gezeigt zu werden, und wurde als Datei gespeichert.',
  transaction: 'Transaktion ansehen',
  balanceTooLow:
    'Ihr Konto hat {balance}. Sie brauchen {amount}: Laden Sie es auf oder wählen Sie ein anderes Konto.',
  faucet: 'Testgeld holen',
  kept: 'Sie haben diese Zahlung bereits freigegeben, ihr Ausgang ist aber nicht bekannt. Schließen Sie sie ab. Sie zahlen nicht doppelt.',
  presentAgain: 'Kauf abschließen (Sie zahlen nicht doppelt)',
  bought:
    'Sie haben das am {date} gekauft. Bis {until} können Sie es ohne Zahlung noch einmal ansehen.',
  boughtOnce:
    'Sie haben das am {date} gekauft. Der Server hat es nicht aufbewahrt und kann es nicht noch einmal zeigen.',
  showAgain: 'Noch einmal zeigen',
  payAnew: 'Erneut kaufen',
  remove: 'Diesen Kauf aus dem Browser entfernen',
  receipt: 'Beleg',
  number: 'Nummer',
  date: 'Datum',
  amount: 'Betrag',
  note: 'Hinweis',
  payer: 'Gezahlt von',
  transactionHash: 'Transaktion',
  copy: 'Kopieren',
  copied: 'Kopiert',
  print: 'Drucken',
  sellerFailed:
    'Das System des Verkäufers ist ausgefallen ({status}); es wurde nichts abgebucht. Versuchen Sie es später noch einmal, oder wenden Sie sich an den Verkäufer.',
  sellerFailedPaid:
    'Der Verkäufer hat mit einem Fehler geantwortet ({status}), die Zahlung wurde aber ausgeführt. Wenden Sie sich an ihn und nennen Sie die Transaktion.',
  priceChanged:
    'Das Angebot hat sich geändert. Es wurde nichts abgebucht. Prüfen Sie den Preis, bevor Sie zahlen.',
  declined: 'Sie haben in der Wallet abgelehnt. Es wurde nichts gezahlt.',
  walletFailed: 'Die Wallet meldet einen Fehler: {message}',
  unknownChain:
    'Die Wallet kennt {network} (Chain-ID {chainId}) nicht. Fügen Sie das Netzwerk dort hinzu und versuchen Sie es noch einmal.',
  noAccount:
    'Die Wallet hat kein Konto freigegeben. Entsperren Sie sie, wählen Sie ein Konto und versuchen Sie es noch einmal.',
  connectionLost:
    'Die Verbindung brach ab, bevor die Antwort kam. Ihre Zahlung ist sicher: Schließen Sie den Kauf ab, Sie zahlen nicht doppelt.',
  insufficientFunds:
    'Das Konto hat zu wenig von diesem Token. Laden Sie es auf oder wählen Sie ein anderes und zahlen Sie noch einmal.',
  alreadyUsed:
    'Diese Zahlung wurde schon verwendet. Falls Sie Ihren Kauf nicht erhalten haben, wenden Sie sich an den Verkäufer und nennen Sie die Transaktion. Sonst zahlen Sie neu.',
  lapsed: 'Die Unterschrift ist abgelaufen, es wurde nichts abgebucht. Unterschreiben Sie neu.',
  clockWrong:
    'Die Unterschrift gilt noch nicht. Prüfen Sie die Uhr Ihres Geräts und zahlen Sie noch einmal.',
  badSignature:
    'Die Unterschrift stammt nicht von diesem Konto. Wählen Sie das Konto in der Wallet und unterschreiben Sie noch einmal.',
  contractAccount:
    'Dieser Verkäufer nimmt keine Zahlungen von Smart Accounts dieser Art. Verwenden Sie ein gewöhnliches Konto.',
  offerChanged:
    'Das Angebot hat sich geändert, es wurde nichts abgebucht. Laden Sie die Seite neu, um das neue zu sehen.',
  wrongSetup:
    'Das System des Verkäufers versteht diese Zahlung nicht. Es wurde nichts abgebucht. Wenden Sie sich an den Verkäufer.',
  transferFailed:
    'Der Token hat die Überweisung verweigert, es wurde nichts abgebucht. Prüfen Sie das Konto in der Wallet oder zahlen Sie anders.',
  stillRunning:
    'Diese Zahlung wird schon bearbeitet. Diese Seite fragt weiter nach. Zahlen Sie nicht noch einmal.',
  payerBlocked:
    'Der Betreiber des Tokens hat dieses Konto gesperrt. Verwenden Sie ein anderes Konto oder einen anderen Token.',
  sellerBlocked:
    'Der Betreiber des Tokens hat den Verkäufer gesperrt. Es wurde nichts abgebucht. Wählen Sie einen anderen Token oder wenden Sie sich an den Verkäufer.',
  tokenPaused:
    'Der Betreiber des Tokens hat ihn angehalten. Es wurde nichts abgebucht. Versuchen Sie es später noch einmal.',
  tryLater:
    'Zu viele Versuche. Es wurde nichts abgebucht. Warten Sie eine Minute und versuchen Sie es noch einmal.',
  tooExpensive:
    'Das Netzwerk ist im Moment zu teuer. Es wurde nichts abgebucht. Versuchen Sie es später oder wählen Sie ein anderes Netzwerk.',
  unavailable:
    'Der Verkäufer kann im Moment keine Zahlungen annehmen. Ihre Zahlung ist sicher: Schließen Sie den Kauf in einigen Sekunden ab.',
  answerGone:
    'Diese Zahlung wurde ausgeführt und die Antwort einmal gesendet. Sie ist nicht mehr vorhanden. Wenden Sie sich an den Verkäufer und nennen Sie die Transaktion.',
  answerTooLarge:
    'Die Antwort war zu groß, um verkauft zu werden. Es wurde nichts abgebucht. Wenden Sie sich an den Verkäufer.',
  checkoutPaid: 'Dieser Zahlungslink ist bezahlt. Er wird nur einmal belastet.',
  checkoutExpired:
    'Dieser Zahlungslink ist abgelaufen. Es wurde nichts belastet. Bitten Sie den Verkäufer um einen neuen.',
  checkoutCanceled:
    'Der Verkäufer hat diesen Zahlungslink zurückgezogen. Es wurde nichts belastet.',
  checkoutInProgress:
    'Jemand anderes bezahlt diesen Link gerade. Diese Seite prüft weiter: Ihre Zahlung wird nur genommen, wenn die andere scheitert.',
  checkoutThanks: 'Vielen Dank. Sie haben {amount} an {seller} bezahlt.',
  backToSeller: 'Zurück zu {seller}',
  notAvailable: 'Nicht verfügbar',
  closed:
    'Der Verkäufer kann für diese Seite im Moment keine Zahlungen annehmen. Es wurde nichts abgebucht.',
  redeemLater:
    'Was Sie bezahlt haben, kann im Moment nicht gesendet werden. Ihre Zahlung ist nicht verloren: Kommen Sie später wieder und zahlen Sie nicht noch einmal.',
  waitFirst: 'Warten Sie {time}, bevor Sie es noch einmal versuchen.',
  tryAgain: 'Noch einmal versuchen',
}
