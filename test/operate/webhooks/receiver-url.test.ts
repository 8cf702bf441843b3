import { describe, expect, it } from '@jest/globals'
import { isPublicAddress } from '../../../src/operate/webhooks/public-address.js'
import {
  findReceiver,
  receiverRules,
  type ReceiverRules,
} from '../../../src/operate/webhooks/receiver-url.js'

const PUBLIC = '93.184.215.14'

const rulesWith = (addresses: readonly string[], allowPrivate = false): ReceiverRules => ({
  allowPrivate,
  resolve: async () => addresses,
})

const refusalOf = async (url: string, rules = rulesWith([PUBLIC])): Promise<string | undefined> => {
  const receiver = await findReceiver(url, rules)
  return receiver.kind === 'refused' ? receiver.message : undefined
}

describe('an address', () => {
  it.each([PUBLIC, '8.8.8.8', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])(
    'is recognised as public: %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2620:4f:8000::1',
    '3fff::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ])('is recognised as not public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})

describe('the URL of a webhook', () => {
  it('can be any https URL of a public host, on any port', async () => {
    for (const url of [
      'https://shop.example/hooks?a=1',
      'https://shop.example:8443/',
      `https://${PUBLIC}/`,
    ])
      expect(await refusalOf(url)).toBeUndefined()
  })

  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0x7f.0.0.1/',
    'https://0/',
    'https://0.0.0.0/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[0:0:0:0:0:ffff:a9fe:a9fe]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://①②⑦.0.0.1/',
    'https://10.0.0.1:6379/',
  ])('is refused if it names a private address, however it is written: %s', async (url) => {
    expect(await refusalOf(url)).toMatch(/not on the public Internet.*webhooks\.allowPrivate/)
  })

  it.each([
    ['http://shop.example/', /https URL/],
    ['ftp://shop.example/', /https URL/],
    ['file:///etc/passwd', /https URL/],
    ['shop.example', /https URL/],
    ['https://', /https URL/],
    ['javascript:alert(1)', /https URL/],
    ['https://user:password@shop.example/', /user or password/],
    ['https://user@shop.example/', /user or password/],
    ['https://shop.example/#part', /fragment/],
    ['https://shop.example:0/', /port above 0/],
    [`https://shop.example/${'a'.repeat(2048)}`, /2048 characters/],
  ])('is refused with its reason: %s', async (url, reason) => {
    const refusal = await refusalOf(url)
    expect(refusal).toMatch(reason)
    expect(refusal).not.toMatch(/user:password/)
  })

  it('is refused if one of several addresses of its host is private', async () => {
    const rules = rulesWith([PUBLIC, '10.0.0.7'])
    const refusal = await refusalOf('https://inside.example/', rules)
    expect(refusal).toMatch(/inside\.example, which is not on the public Internet/)
    expect(refusal).not.toMatch(/10\.0\.0\.7/)
  })

  it('is refused if its host has no address or the look-up fails', async () => {
    expect(await refusalOf('https://nowhere.example/', rulesWith([]))).toMatch(/no address in DNS/)
    const broken = { allowPrivate: false, resolve: () => Promise.reject(new Error('SERVFAIL')) }
    expect(await refusalOf('https://broken.example/', broken)).toMatch(/no address in DNS/)
  })

  it('can be private and over http if the operator allows it', async () => {
    const rules = receiverRules(true)
    for (const url of ['http://127.0.0.1:3000/', 'http://localhost:3000/', 'https://[::1]/'])
      expect(await refusalOf(url, rules)).toBeUndefined()
    expect(await refusalOf('ftp://localhost/', rules)).toMatch(/http\(s\) URL/)
  })
})
