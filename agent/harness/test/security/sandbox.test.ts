/** Attacks from within the sandbox on the machine around it: its network, its files, its processes. */
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { GovernanceConfig } from '@cairn/protocol'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import type { SandboxProvider } from '@cairn/sandbox'
import { terminalTool } from '../../src/tools/terminal.ts'
import { sandboxed, ofTheRun } from '@cairn/sandbox/test/providers'
import { makeContext, makeFolder, runParsed } from '../tools/tool-context.ts'

const box = await sandboxed()
const run = async (
  command: string,
  sandbox: SandboxProvider = box,
  context = makeContext(),
): Promise<string> => {
  const { content } = await runParsed(terminalTool({ sandbox }), { command }, context)
  return String((content as { output: unknown }).output)
}

/** Sends a word to every client. */
async function listen(target: { port: number; host: string } | { path: string }): Promise<Server> {
  const server = createServer(socket => socket.end('REACHED\n'))
  server.listen(target)
  await once(server, 'listening')
  return server
}

const servers: Server[] = []
let port = 0
const ABSTRACT = `\0cairn-attack-${process.pid}`
beforeAll(async () => {
  const tcp = await listen({ port: 0, host: '0.0.0.0' })
  port = (tcp.address() as AddressInfo).port
  servers.push(tcp, await listen({ path: ABSTRACT }))
})
afterAll(() => servers.forEach(server => server.close()))

const ownAddresses = Object.values(networkInterfaces()).flatMap(found =>
  (found ?? []).filter(({ family }) => family === 'IPv4').map(({ address }) => address),
)
/** bash has its own client; other installed clients are tried, too. */
const dial = (host: string, to: number) =>
  [
    `(exec 3<>/dev/tcp/${host}/${to} && timeout 2 cat <&3) 2>&1`,
    `command -v curl >/dev/null && curl -sS -m 2 --http0.9 http://${host}:${to}/ 2>&1`,
    `command -v perl >/dev/null && perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(` +
      `PeerAddr => "${host}:${to}", Timeout => 2) or die "$!\\n"; print <$s>' 2>&1`,
  ].join('; ')
const dialAbstract =
  `perl -MSocket -e 'socket(my $s, PF_UNIX, SOCK_STREAM, 0); ` +
  `connect($s, pack_sockaddr_un("\\0${ABSTRACT.slice(1)}")) or die "$!\\n"; print <$s>' 2>&1`

const TARGETS = {
  ...Object.fromEntries(
    ['127.0.0.1', 'localhost', ...ownAddresses].map(host => [
      `a port of this machine at ${host}`,
      () => dial(host, port),
    ]),
  ),
  'an abstract socket of this machine': () => dialAbstract,
  'the metadata address': () => `${dial('169.254.169.254', 80)}; ip route 2>&1; cat /proc/net/route`,
  'a name': () => 'getent hosts example.org; echo',
}

/** Promise 11.9: A sandboxed command reaches no port, metadata address or abstract socket. */
test.each(Object.entries(TARGETS))('a sandboxed command does not reach %s', async (what, attempt) => {
  const said = await run(attempt())
  const reached = /REACHED|instance-id|^\d+\.\d+\.\d+\.\d+ +example/m.test(said)
  tally(`the box: ${what}`, 1, Number(reached))
  expect(said).not.toMatch(/REACHED|instance-id|^\d+\.\d+\.\d+\.\d+ +example/m)
  // The sandbox has no interface except its own loopback.
  expect(await run('tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route')).toMatch(/^ *lo\n$/)
})

test('with network: open the attempts above succeed, so they are real', async () => {
  const open = await sandboxed({ network: 'open' })
  for (const [what, attempt] of Object.entries(TARGETS))
    if (/this machine/.test(what)) expect(await run(attempt(), open), what).toContain('REACHED')
  const { egress } = GovernanceConfig.parse({ egress: { default: 'deny' } })
  const denied = await run(dial('127.0.0.1', port), open, makeContext({ egress }))
  expect(denied, 'an agent whose egress is denied has no network in an open box').not.toContain('REACHED')
})

/** What each prints or leaves when it succeeds. */
const secretDir = makeFolder('secret')
const environ = `/proc/${process.pid}/environ`
const LOOKS: Readonly<Record<string, string>> = {
  'the folder of another session': `cat ${secretDir}/secret.txt`,
  'the environment of the service': `cat ${environ} /proc/1/environ | tr '\\0' '\\n' | grep VITEST`,
  'password hashes and keys of the machine':
    'cat /etc/shadow /etc/ssl/private/* /etc/ssh/ssh_host_* /etc/pki/tls/private/* | grep -v "No such"',
  'the root of the machine': 'cat /root/.bashrc /home/*/.bashrc /var/log/* /run/* | grep .',
  'its disks and memory': 'cat /dev/mem /dev/sda /dev/vda /dev/kmsg /proc/kcore | head -c 100 | grep .',
}
test.each(Object.entries(LOOKS))('a sandboxed command does not read %s', async (what, command) => {
  writeFileSync(join(secretDir, 'secret.txt'), 'a secret')
  const found = await run(`{ ${command}; } 2>/dev/null`)
  tally(`the box: read ${what}`, 1, Number(found !== ''))
  expect(found).toBe('')
})

/** Containers cover files there with the null device. */
const NOT_COVERED = ofTheRun.provider === 'container' ? '-exec test ! -c {} ";"' : ''
const CHANGES: Readonly<Record<string, string>> = {
  'a file beside its workspace': `touch ${secretDir}/made /made /etc/made /usr/made /dev/made /run/made`,
  // Each is written with its current content, so that a successful attempt does no harm.
  'settings of the kernel': ['kernel/core_pattern', 'kernel/modprobe', 'vm/overcommit_memory', 'fs/file-max']
    .map(name => `cat /proc/sys/${name} | tee /proc/sys/${name}`)
    .join('; '),
  'anything below /proc':
    `test "$(find /proc -writable ! -type l ! -path "*/fd/*" ${NOT_COVERED} -print 2>/dev/null | ` +
    'head -c 300)"',
  'its limits': 'ulimit -n 1000000; ulimit -f unlimited; ulimit -d unlimited',
  'its mounts': 'mount -t tmpfs x /mnt; umount /usr; mount -o remount,rw /usr',
  'its namespaces': 'unshare --user true; unshare --mount true; nsenter -t 1 -m true; unshare --net true',
  'its rights':
    'chroot / true; su -c true; setpriv --reuid 0 true; chown 1 .; mknod x c 1 1; ip link set lo down',
}
/** Promise 11.8: A sandboxed command changes nothing on the machine, including kernel settings. */
test.each(Object.entries(CHANGES))('a sandboxed command does not change %s', async (what, commands) => {
  const context = makeContext()
  const each = commands.split('; ')
  const script = each.map(
    command => `(${command}) >/dev/null 2>&1 && echo 'DONE ${command.replaceAll("'", '')}'`,
  )
  // touch creates what it can and fails for the rest, so created files are looked for as well.
  const said = await run(
    `${script.join('\n')}\nls -d /made /etc/made /usr/made /dev/made /run/made 2>/dev/null`,
    box,
    context,
  )
  tally(`the box: change ${what}`, each.length, said === '' ? 0 : 1)
  expect(said).toBe('')
  expect(existsSync(join(secretDir, 'made'))).toBe(false)
})

test('a sandboxed command neither sees nor signals processes outside', async () => {
  const outside = [process.pid, process.ppid]
  const said = await run(
    `for pid in ${outside.join(' ')}; do kill -0 $pid && echo reached; test -e /proc/$pid && echo seen; ` +
      'done; kill -9 -1',
  )
  expect(said).not.toMatch(/^(?:reached|seen)$/m)
  expect(process.kill(process.ppid, 0)).toBe(true)
  tally('the box: processes outside', outside.length * 2 + 1, 0)
})

test('a hidden folder is hidden within a system folder, too', async () => {
  const hidden = `/usr/local/cairn-attack-${process.pid}`
  mkdirSync(hidden)
  onTestFinished(() => rmSync(hidden, { recursive: true }))
  writeFileSync(join(hidden, 'auth-key.json'), 'key')
  expect(await run(`cat ${hidden}/auth-key.json`, await sandboxed({}, [hidden]))).not.toContain('key\n')
})
