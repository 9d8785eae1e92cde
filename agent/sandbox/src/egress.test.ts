import { GovernanceConfig } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { isPublicAddress, matchesHost, mayReach, urlProblem } from './egress.ts'

const egress = (
  rules: Partial<{ default: 'allow' | 'deny'; allow: string[]; deny: string[]; internal: string[] }> = {},
) => GovernanceConfig.parse({ egress: rules }).egress

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '192.169.0.1',
  '2606:4700:4700::1111',
  '2a00:1450:4001::200e',
])('%s is a public address', address => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each([
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.1.1.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:a00:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  'not an address',
  '',
])('%s is not a public address', address => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each([
  ['example.org', 'example.org', true],
  ['example.org', 'www.example.org', false],
  ['*.example.org', 'www.example.org', true],
  ['*.example.org', 'a.b.example.org', true],
  ['*.example.org', 'example.org', false],
  ['*.example.org', 'evilexample.org', false],
  ['*', 'anything', true],
  ['EXAMPLE.org.', 'example.org', true],
])('the pattern %s matches host %s: %s', (pattern, host, expected) => {
  expect(matchesHost(pattern, host)).toBe(expected)
})

/** Promise 11.7: A host and port in `egress.internal` opens only that port. */
test.each([
  ['http://example.org/', egress(), null],
  ['https://example.org:8443/x', egress(), null],
  ['/relative', egress(), /not an absolute URL/],
  ['file:///etc/passwd', egress(), /only http and https/],
  ['gopher://example.org/', egress(), /only http and https/],
  ['http://user:secret@example.org/', egress(), /user name or password/],
  ['http://example.org/', egress({ default: 'deny' }), /not on the egress allow list/],
  ['http://example.org/', egress({ default: 'deny', allow: ['example.org'] }), null],
  ['http://www.example.org./', egress({ default: 'deny', allow: ['*.example.org'] }), null],
  ['http://bad.example.org/', egress({ allow: ['*.example.org'], deny: ['bad.example.org'] }), /deny list/],
  ['http://127.0.0.1/', egress(), /not public/],
  ['http://2130706433/', egress(), /127\.0\.0\.1 is not public/],
  ['http://0x7f.1/', egress(), /127\.0\.0\.1 is not public/],
  ['http://[::1]/', egress(), /not public/],
  ['http://[::ffff:169.254.169.254]/', egress(), /not public/],
  ['http://169.254.169.254/latest/meta-data', egress({ allow: ['*'] }), /not public/],
  ['http://localhost:3000/', egress(), /this machine/],
  ['http://app.localhost/', egress(), /this machine/],
  ['http://127.0.0.1/', egress({ allow: ['127.0.0.1'] }), /list it under egress\.internal/],
  ['http://[::1]/', egress({ allow: ['[::1]'] }), /list it under egress\.internal/],
  ['http://localhost/', egress({ allow: ['localhost'] }), /list it under egress\.internal/],
  ['http://127.0.0.1/', egress({ internal: ['127.0.0.1'] }), null],
  ['http://2130706433/', egress({ internal: ['127.0.0.1'] }), null],
  ['http://127.0.0.2/', egress({ internal: ['127.0.0.1'] }), /not public/],
  ['http://127.0.0.1:8080/', egress({ internal: ['127.0.0.1:8080'] }), null],
  ['http://127.0.0.1:8080/', egress({ default: 'deny', internal: ['127.0.0.1:8080'] }), null],
  ['http://127.0.0.1:8081/', egress({ internal: ['127.0.0.1:8080'] }), /not public/],
  ['http://127.0.0.1/', egress({ internal: ['127.0.0.1:8080'] }), /not public/],
  ['http://127.0.0.1/', egress({ internal: ['127.0.0.1:80'] }), null],
  ['https://127.0.0.1/', egress({ internal: ['127.0.0.1:80'] }), /not public/],
  ['http://[::1]:8080/', egress({ internal: ['[0::1]:8080'] }), null],
  ['http://[::1]:8081/', egress({ internal: ['[::1]:8080'] }), /not public/],
  ['http://localhost:8080/', egress({ internal: ['127.0.0.1:8080'] }), /this machine/],
  ['http://[0:0:0:0:0:0:0:1]/', egress({ internal: ['[::1]'] }), null],
  ['http://[::1]/', egress({ internal: ['0:0::1'] }), null],
  ['http://localhost/', egress({ internal: ['localhost'] }), null],
  ['http://wiki.corp/', egress({ default: 'deny', internal: ['Wiki.corp.'] }), null],
  ['http://www.wiki.corp/', egress({ default: 'deny', internal: ['wiki.corp'] }), /egress allow list/],
  ['http://wiki.corp/', egress({ internal: ['wiki.corp'], deny: ['*.corp'] }), /deny list/],
  ['http://169.254.169.254/', egress({ internal: ['wiki.corp'] }), /not public/],
  ['http://169.254.169.254/', egress({ internal: ['169.254.169.254'] }), null],
])('checks %s against these rules', (url, rules, expected) => {
  if (expected === null) expect(urlProblem(url, rules)).toBeNull()
  else expect(urlProblem(url, rules)).toMatch(expected)
})

test.each([
  [
    'allow opens a name and never where it leads',
    'partner.test',
    '127.0.0.1',
    { allow: ['partner.test'] },
    false,
  ],
  ['nor does a wildcard', 'partner.test', '10.0.0.1', { allow: ['*.test', '*'] }, false],
  ['a public address needs no list', 'partner.test', '93.184.215.14', {}, true],
  [
    'internal opens the private addresses of a name',
    'wiki.corp',
    '10.0.0.1',
    { internal: ['wiki.corp'] },
    true,
  ],
  ['for that very name', 'a.wiki.corp', '10.0.0.1', { internal: ['wiki.corp'] }, false],
  [
    'internal opens an address, whichever name leads to it',
    'wiki.corp',
    '10.0.0.1',
    { internal: ['10.0.0.1'] },
    true,
  ],
  ['and no other address', 'wiki.corp', '10.0.0.2', { internal: ['10.0.0.1'] }, false],
  [
    'a name does not open the metadata of a cloud',
    'wiki.corp',
    '169.254.169.254',
    { internal: ['wiki.corp'] },
    false,
  ],
  ['in no spelling', 'wiki.corp', '::ffff:a9fe:a9fe', { internal: ['wiki.corp'] }, false],
  ['of no cloud', 'wiki.corp', 'fd00:ec2::254', { internal: ['wiki.corp'] }, false],
  ['whatever its number', 'wiki.corp', '168.63.129.16', { internal: ['wiki.corp'] }, false],
  ['its address does', 'wiki.corp', '169.254.169.254', { internal: ['169.254.169.254'] }, true],
  ['a zone is no other address', 'wiki.corp', 'fe80::1%eth0', { internal: ['fe80::1'] }, true],
])('%s: %s at %s', (_, host, address, rules, expected) => {
  expect(mayReach(host, address, egress(rules))).toBe(expected)
})

test('the configuration rejects a wildcard in egress.internal', () => {
  expect(() => egress({ internal: ['*.corp'] })).toThrow('without a wildcard')
})
