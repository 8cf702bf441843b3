import { BlockList, isIP } from 'node:net'

/** Blocks of IPv4 that are not globally reachable (IANA special-purpose registry), and multicast. */
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

/** All of IPv6 that is assigned to the public Internet; everything outside it is refused. */
const PUBLIC_IPV6 = ['2000::/3']

/**
 * What of it is not an address of a host: protocol assignments with Teredo, documentation, and 6to4,
 * which carries an IPv4 address of any kind, as Teredo does.
 */
const PRIVATE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const privateIpv4 = blockList(PRIVATE_IPV4, 'ipv4')
const publicIpv6 = blockList(PUBLIC_IPV6, 'ipv6')
const privateIpv6 = blockList(PRIVATE_IPV6, 'ipv6')

/**
 * Tells whether an address belongs to a host of the public Internet.
 *
 * Loopback, private, link-local, shared and multicast addresses do not; neither do those of IPv6 that
 * stand for an address of IPv4 (mapped, NAT64, 6to4, Teredo), since that one may be private.
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
