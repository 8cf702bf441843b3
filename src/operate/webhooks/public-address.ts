import { BlockList, isIP } from 'node:net'

/** IPv4 blocks that are not globally reachable (IANA special-purpose registry), and multicast. */
const PRIVATE_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** IPv6 of the public Internet; everything else is refused. */
const PUBLIC_IPV6 = ['2000::/3']

/** Exceptions inside 2000::/3: Teredo and other protocols, documentation, 6to4, and AS112, which answers nobody. */
const PRIVATE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

const privateIpv4 = blockList(PRIVATE_IPV4, 'ipv4')
const publicIpv6 = blockList(PUBLIC_IPV6, 'ipv6')
const privateIpv6 = blockList(PRIVATE_IPV6, 'ipv6')

/**
 * Whether an address belongs to a host on the public Internet.
 *
 * Not loopback, private, link-local, shared and multicast addresses, nor IPv6 addresses that stand for an
 * IPv4 address (mapped, NAT64, 6to4, Teredo), which may be private.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !privateIpv4.check(address, 'ipv4')
    case 6:
      return publicIpv6.check(address, 'ipv6') && !privateIpv6.check(address, 'ipv6')
    default:
      return false
  }
}

function blockList(blocks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const block of blocks) {
    const [network = '', prefix] = block.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
