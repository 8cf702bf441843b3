import type { PaywallTexts } from './paywall-texts.js'

/** The paywall's texts in Korean. */
export const ko: PaywallTexts = {
  heading: '결제가 필요합니다',
  price: '가격',
  onNetwork: '{amount} ({network})',
  upTo: '최대 {amount}',
  testBadge: '테스트: 실제 돈이 아닙니다',
  details: '자세히',
  item: '상품',
  seller: '판매자',
  paidTo: '받는 주소',
  address: '페이지',
  noScript: '결제하려면 JavaScript를 켜세요.',
  cannotRepeat:
    '양식을 제출하여 이 페이지에 오셨습니다. 결제로는 양식을 다시 제출할 수 없으므로 이 페이지에서는 결제할 수 없습니다. 청구된 금액은 없습니다. 뒤로 가거나 판매자에게 결제 방법을 문의하세요.',
  choose: '결제 방법',
  pay: '{amount} 결제',
  payWith: '{wallet}(으)로 {amount} 결제',
  browserWallet: '내 지갑',
  anotherAccount: '다른 계정 사용',
  accountInWallet: '{wallet}에서 계정을 선택하세요.',
  noWallet:
    '결제하려면 암호화폐 지갑이 필요합니다. 이 브라우저에 지갑이 있으면 잠금을 해제하고 다시 시도하세요.',
  openIn: '지갑 앱에서 이 페이지 열기:',
  scan: '지갑 앱이 있는 휴대전화로 이 코드를 스캔하세요.',
  getWallet: '아직 지갑이 없으신가요? 설치하세요:',
  onRamp: '{symbol} 구하기',
  signedWords:
    '{network}에서 {seller}({address})에게 정확히 {amount}만 지불하는 1회용 승인입니다. {minutes}분 후에 만료됩니다. 네트워크 수수료는 없습니다.',
  signedUpTo:
    '{network}에서 {seller}({address})에게 {amount}을(를) 지불하는 1회용 승인입니다. 판매자는 사용한 만큼만 청구합니다. {minutes}분 후에 만료됩니다. 네트워크 수수료는 없습니다.',
  permit2Words:
    '이 토큰은 Permit2로 이동합니다. 아직 허용하지 않았다면 지갑이 먼저 Permit2가 {amount}을(를) 가져가도록 허용할지 묻습니다. 서명 없이는 누구도 사용할 수 없습니다.',
  approvalFee: '그 허용에 드는 네트워크 수수료는 직접 지불합니다.',
  connecting: '{wallet}에서 연결을 허용하세요.',
  switching: '{wallet}에서 {network}(으)로 전환하세요.',
  checkingBalance: '잔액을 확인하는 중…',
  approving:
    'Permit2가 {amount}을(를) 가져가도록 허용하세요. {wallet}에서 확인하세요. 아직 결제되지 않습니다.',
  revoking:
    '먼저 Permit2에 대한 이전의 더 작은 허용을 취소하세요. {wallet}에서 확인하세요. 아직 결제되지 않습니다.',
  approvalPending: '네트워크가 허용을 확인할 때까지 기다리는 중…',
  approvalFailed: '허용이 확인되지 않았습니다. 결제되지 않았습니다.',
  approvalNeeded:
    'Permit2가 이 금액을 가져가도록 허용되지 않아 아무것도 청구되지 않았습니다. 다시 결제하세요. 지갑이 먼저 허용할지 묻습니다.',
  signing: '{wallet}에서 서명하세요. 서명 전에는 결제되지 않습니다.',
  verifying: '결제를 판매자에게 보냈습니다. 응답을 기다리는 중…',
  settling: '아직 응답을 기다리고 있습니다. {network}에서 결제가 처리되면 도착합니다.',
  pending:
    '결제가 접수되었지만 아직 확인되지 않았습니다. 이 페이지가 계속 확인합니다. 다시 결제하지 마세요.',
  receiving: '결제되었습니다. 구매한 내용을 받는 중…',
  paid: '결제되었습니다. 구매한 내용:',
  free: '받았습니다. 판매자가 청구를 보고하지 않았습니다.',
  saved: '결제되었습니다. 파일을 {name}(으)로 저장했습니다.',
  saveAgain: '파일 다시 저장',
  saveAsFile: '파일로 저장',
  tooLargeToShow: '페이지가 너무 커서 여기에 표시할 수 없어 파일로 저장했습니다.',
  transaction: '거래 보기',
  balanceTooLow:
    '계정 잔액은 {balance}입니다. {amount}이(가) 필요합니다. 충전하거나 다른 계정을 선택하세요.',
  faucet: '테스트용 돈 받기',
  kept: '이 결제는 이미 승인하셨지만 결과를 알 수 없습니다. 계속하여 완료하세요. 두 번 결제되지 않습니다.',
  presentAgain: '구매 완료하기 (두 번 청구되지 않습니다)',
  bought: '{date}에 구매하셨습니다. {until}까지 결제 없이 다시 볼 수 있습니다.',
  boughtOnce: '{date}에 구매하셨습니다. 서버가 보관하지 않아 다시 표시할 수 없습니다.',
  showAgain: '다시 보기',
  payAnew: '다시 구매',
  remove: '브라우저에서 이 구매 삭제',
  receipt: '영수증',
  number: '번호',
  date: '날짜',
  amount: '금액',
  note: '참고',
  payer: '지불한 계정',
  transactionHash: '거래 해시',
  copy: '복사',
  copied: '복사됨',
  print: '인쇄',
  sellerFailed:
    '판매자의 시스템에 오류({status})가 발생했으며 청구된 금액은 없습니다. 나중에 다시 시도하거나 판매자에게 문의하세요.',
  sellerFailedPaid:
    '판매자가 오류({status})로 응답했지만 결제는 처리되었습니다. 거래 정보와 함께 판매자에게 문의하세요.',
  priceChanged: '가격이 바뀌었습니다. 청구된 금액은 없습니다. 결제 전에 가격을 확인하세요.',
  declined: '지갑에서 거부하셨습니다. 결제된 금액은 없습니다.',
  walletFailed: '지갑에서 오류가 발생했습니다: {message}',
  unknownChain:
    '지갑이 {network}(체인 ID {chainId})을(를) 모릅니다. 지갑에 추가하고 다시 시도하세요.',
  noAccount:
    '지갑이 계정을 공유하지 않았습니다. 잠금을 해제하고 계정을 선택한 다음 다시 시도하세요.',
  connectionLost:
    '응답이 오기 전에 연결이 끊겼습니다. 결제는 안전합니다. 구매를 완료하세요. 두 번 결제되지 않습니다.',
  insufficientFunds:
    '계정에 이 토큰이 부족합니다. 충전하거나 다른 계정을 선택하여 다시 결제하세요.',
  alreadyUsed:
    '이 결제는 이미 사용되었습니다. 구매한 내용을 받지 못했다면 거래 정보와 함께 판매자에게 문의하세요. 그렇지 않으면 새로 결제하세요.',
  lapsed: '서명이 만료되었으며 청구된 금액은 없습니다. 다시 서명하세요.',
  clockWrong: '서명이 아직 유효하지 않습니다. 기기의 시계를 확인하고 다시 결제하세요.',
  badSignature: '이 계정의 서명이 아닙니다. 지갑에서 계정을 선택하고 다시 서명하세요.',
  contractAccount: '이 판매자는 이런 종류의 스마트 계정을 받지 않습니다. 일반 계정을 사용하세요.',
  offerChanged:
    '가격이 바뀌었으며 청구된 금액은 없습니다. 페이지를 새로 고쳐 새 가격을 확인하세요.',
  wrongSetup:
    '판매자의 시스템이 이 결제를 이해하지 못합니다. 청구된 금액은 없습니다. 판매자에게 문의하세요.',
  transferFailed:
    '토큰이 이체를 거부했으며 청구된 금액은 없습니다. 지갑의 계정을 확인하거나 다른 방법으로 결제하세요.',
  stillRunning: '이 결제는 이미 처리 중입니다. 이 페이지가 계속 확인합니다. 다시 결제하지 마세요.',
  payerBlocked: '토큰 운영자가 이 계정을 차단했습니다. 다른 계정이나 토큰을 사용하세요.',
  sellerBlocked:
    '토큰 운영자가 판매자를 차단했습니다. 청구된 금액은 없습니다. 다른 토큰을 선택하거나 판매자에게 문의하세요.',
  tokenPaused:
    '토큰 운영자가 토큰을 일시 중지했습니다. 청구된 금액은 없습니다. 나중에 다시 시도하세요.',
  tryLater: '시도가 너무 많습니다. 청구된 금액은 없습니다. 1분 후에 다시 시도하세요.',
  tooExpensive:
    '지금은 네트워크 비용이 너무 높습니다. 청구된 금액은 없습니다. 나중에 다시 시도하거나 다른 네트워크를 선택하세요.',
  unavailable:
    '판매자가 지금 결제를 받을 수 없습니다. 결제는 안전합니다. 몇 초 후에 구매를 완료하세요.',
  answerGone:
    '이 결제는 처리되었으며, 응답은 이미 전송되어 더 이상 보관되지 않습니다. 거래 정보와 함께 판매자에게 문의하세요.',
  answerTooLarge:
    '응답이 너무 커서 판매할 수 없습니다. 청구된 금액은 없습니다. 판매자에게 문의하세요.',
  checkoutPaid: '이 결제 링크는 이미 결제되었습니다. 청구는 한 번만 됩니다.',
  checkoutExpired:
    '이 결제 링크는 만료되었습니다. 청구된 금액은 없습니다. 판매자에게 새 링크를 요청하세요.',
  checkoutCanceled: '판매자가 이 결제 링크를 취소했습니다. 청구된 금액은 없습니다.',
  checkoutInProgress:
    '지금 다른 사람이 이 링크를 결제하고 있습니다. 이 페이지는 계속 확인합니다. 그 결제가 실패할 때만 회원님의 결제가 처리됩니다.',
  checkoutThanks: '감사합니다. {seller}에 {amount}을(를) 결제했습니다.',
  backToSeller: '{seller}(으)로 돌아가기',
  notAvailable: '이용할 수 없음',
  closed: '판매자가 지금 이 페이지의 결제를 받을 수 없습니다. 청구된 금액은 없습니다.',
  redeemLater:
    '구매한 내용을 지금 보낼 수 없습니다. 결제는 사라지지 않았습니다. 나중에 다시 방문하고 다시 결제하지 마세요.',
  waitFirst: '{time} 기다린 다음 다시 시도하세요.',
  tryAgain: '다시 시도',
}
