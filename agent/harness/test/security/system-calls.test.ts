/**
 * Attacks from within the sandbox on the kernel: sockets that no namespace isolates, and calls that no
 * program needs.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { terminalTool } from '../../src/tools/terminal.ts'
import { CHECKED_CALLS, FORBIDDEN_CALLS, UNKNOWN_CALLS } from '@cairn/sandbox/internal/refused-calls'
import { sandboxed } from '@cairn/sandbox/test/providers'
import { makeContext, runParsed } from '../tools/tool-context.ts'

const architecture = process.arch as 'x64' | 'arm64'
const boxes = { none: await sandboxed({ network: 'none' }), open: await sandboxed({ network: 'open' }) }

async function run(command: string, network: keyof typeof boxes = 'none', context = makeContext()) {
  const { content } = await runParsed(
    terminalTool({ sandbox: boxes[network] }),
    { command, timeout: 120 },
    context,
  )
  return content as { exit_code: number; output: string }
}

/** Each line: a name, and the call with its arguments. Prints the error of each, or OK. */
const tryCalls = (calls: readonly (readonly [name: string, ...args: number[]])[]): string =>
  `perl -e '${calls
    .map(
      ([name, ...args]) =>
        `$r = syscall(${args.join(', ')}); print "${name}: ", $r == -1 ? $!+0 : "OK", "\\n";`,
    )
    .join(' ')}'`

const socket = CHECKED_CALLS.socket[architecture]
/** From linux/socket.h. */
const FAMILIES = {
  ax25: 3,
  ipx: 4,
  appletalk: 5,
  x25: 9,
  key: 15,
  packet: 17,
  rds: 21,
  pppox: 24,
  llc: 26,
  can: 29,
  tipc: 30,
  bluetooth: 31,
  alg: 38,
  nfc: 39,
  vsock: 40,
  kcm: 41,
  qipcrtr: 42,
  smc: 43,
  xdp: 44,
  mctp: 45,
}

/**
 * Promise 11.9: A sandboxed command opens no socket to the hypervisor or rarely used kernel code, even with
 * an open network.
 */
test.each(['none', 'open'] as const)(
  'a sandboxed command opens no socket to the hypervisor or rarely used kernel code: network %s',
  async network => {
    const calls = Object.entries(FAMILIES).flatMap(([name, family]) =>
      [1, 2, 3, 5].map(type => [`${name} ${type}`, socket, family, type, 0] as const),
    )
    const more = [
      ['vsock by its lower half', socket, 2 ** 32 + FAMILIES.vsock, 1, 0],
      ['SCTP', socket, 2, 1, 132],
      ['DCCP', socket, 2, 6, 33],
      ['MPTCP', socket, 2, 1, 262],
      ['netfilter', socket, 16, 3, 12],
      ['uevents', socket, 16, 3, 15],
      ['a pair of TIPC', CHECKED_CALLS.socketpair[architecture], 30, 1, 0, 0],
    ] as const
    const { output } = await run(tryCalls([...calls, ...more]), network)
    const lines = output.trim().split('\n')
    expect(lines).toHaveLength(calls.length + more.length)
    const refused = lines.filter(line => /: (?:93|94|97)$/.test(line))
    tally(
      `the box: sockets of other families, network ${network}`,
      lines.length,
      lines.length - refused.length,
    )
    expect(lines.filter(line => !refused.includes(line))).toEqual([])
  },
)

/** Promise 11.8: A sandbox filters system calls, and common programs run in it. */
test('every denied system call fails in a sandboxed command, and its filter is active', async () => {
  const calls = [
    ...Object.entries(FORBIDDEN_CALLS).map(([name, numbers]) => [name, numbers[architecture], 1] as const),
    ...Object.entries(UNKNOWN_CALLS).map(([name, numbers]) => [name, numbers[architecture], 38] as const),
    ['a later call', 470, 38] as const,
    ['x32 socket', 0x40000000 + socket, 38] as const,
  ].flatMap(([name, number, error]) => (number === null ? [] : [{ name, number, error }]))
  const { output } = await run(
    `${tryCalls(calls.map(({ name, number }) => [name, number, 0, 0, 0, 0, 0]))}; ` +
      "grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status",
  )
  const expected = [...calls.map(({ name, error }) => `${name}: ${error}`), 'NoNewPrivs:\t1', 'Seccomp:\t2']
  const lines = output.trim().split('\n')
  tally(
    'the box: system calls that are refused',
    calls.length,
    expected.filter(line => !lines.includes(line)).length,
  )
  expect(lines).toEqual(expected)
})

/** Promise 11.8: A sandbox inherits no open file of the service. */
test('a sandboxed command has only its three descriptors, whatever the service inherited', async () => {
  const { output } = await run('ls /proc/self/fd')
  // The fourth is the folder that ls reads.
  expect(output.trim().split('\n')).toEqual(['0', '1', '2', '3'])
  const leaking = `exec 200>/dev/null; exec ${process.execPath} --input-type=module -e '${LEAKING_SERVICE}'`
  const said = execFileSync('bash', ['-c', leaking], { encoding: 'utf8', cwd: import.meta.dirname })
  tally('the box: descriptors that the service was started with', 1, Number(said !== '0\n1\n2\n3\n'))
  expect(said).toBe('0\n1\n2\n3\n')
})

/** A service that has descriptor 200 open, and one command of it. */
const LEAKING_SERVICE = `
import { chooseSandbox } from "@cairn/sandbox";
import { SandboxConfig } from "@cairn/protocol";
const { PATH } = process.env;
const sandbox = await chooseSandbox({ config: SandboxConfig.parse({}), path: PATH, claims: false });
const spec = { id: "b", workspace: "/tmp", env: { PATH }, network: "none", mayGrowFiles: true };
const box = sandbox.provider.open(spec);
const running = box.spawn(["ls", "/proc/self/fd"]);
running.stdout.pipe(process.stdout);
await running.exited; await box.close(); await sandbox.close();
`

test('a sandboxed command injects no terminal input, changes no interface and removes no filter', async () => {
  const [prctl, seccomp] = architecture === 'x64' ? [157, 317] : [167, 277]
  const { output } = await run(
    `${tryCalls([
      ['no_new_privs off', prctl, 38, 0, 0, 0, 0],
      ['seccomp off', prctl, 22, 0, 0, 0, 0],
      ['seccomp strict', seccomp, 0, 1, 0],
    ])}; perl -e '$c = "x"; print ioctl(STDIN, 0x5412, $c) ? "OK" : "refused", "\\n"'; ` +
      'ip link add d0 type dummy 2>/dev/null && echo OK; ip link set lo mtu 100 2>/dev/null && echo OK; true',
  )
  tally('the box: rights given back, interfaces, terminals', 6, output.match(/\bOK\b/g)?.length ?? 0)
  expect(output).toBe('no_new_privs off: 22\nseccomp off: 22\nseccomp strict: 22\nrefused\n')
})

const PYTHON = `
import multiprocessing, socket, subprocess, threading
thread = threading.Thread(target=print, args=(1,)); thread.start(); thread.join()
process = multiprocessing.get_context('fork').Process(target=print, args=(2,))
process.start(); process.join()
subprocess.run(['true'], check=True)
socket.socketpair(); socket.if_nameindex()
`
const NODE = `
import { execSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Worker } from 'node:worker_threads'
networkInterfaces(); new Worker('1', { eval: true }); await readFile('program'); execSync('true')
const server = createServer(socket => socket.end('x')).listen(0, '127.0.0.1', () =>
  connect(server.address().port, '127.0.0.1').on('data', () => process.exit(0)))
`
const PROGRAMS: Readonly<Record<string, readonly [program: string, command: string]>> = {
  bash: ['for i in 1 2 3; do (sleep 0 &); done; wait; echo ran | tr a-z A-Z | grep -q RAN', 'bash program'],
  git: [
    'git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log',
    'bash program',
  ],
  python: [PYTHON, 'python3 program'],
  node: [NODE, 'node --input-type=module <program'],
  'a compiler': ['int main(void) { return 0; }', 'gcc -O2 -x c -o a program && ./a'],
  'a build': ['all: b\nb:\n\ttrue >b\n', 'make -j2 -s -f program'],
}
test.each(Object.entries(PROGRAMS))('the filter lets %s run', async (_, [program, command]) => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'program'), program)
  const { exit_code, output } = await run(command, 'none', context)
  expect(exit_code, output).toBe(0)
})
