import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERRNO, seccompProgram } from './bubblewrap-seccomp.ts'
import { ifEqual, giveBack, type Program } from './bpf.ts'
import { findBubblewrap } from './bubblewrap.ts'
import { CHECKED_CALLS, FORBIDDEN_CALLS, LAST_REVIEWED_CALL, UNKNOWN_CALLS } from './refused-calls.ts'

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 }
const ALLOWED = 'allowed'

/** Runs a filter as the kernel does and names the result. */
function run(program: Program, arch: number, nr: number, args: readonly number[] = []): string {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(nr >>> 0, 0)
  data.writeUInt32LE(arch, 4)
  for (const [index, arg] of args.entries()) data.writeUInt32LE(arg >>> 0, 16 + 8 * index)
  let accumulator = 0
  for (let at = 0; at < program.length; at += 1) {
    const { code, jt, jf, k } = program[at]!
    const jump = (holds: boolean) => (at += holds ? jt : jf)
    if (code === 0x20) accumulator = data.readUInt32LE(k)
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0
    else if (code === 0x15) jump(accumulator === k)
    else if (code === 0x35) jump(accumulator >= k)
    else if (code === 0x45) jump((accumulator & k) !== 0)
    else if (code === 0x06) {
      if (k === 0x7fff0000) return ALLOWED
      const name = Object.entries(ERRNO).find(([, value]) => k === 0x00050000 + value)?.[0]
      return name ?? `unknown return ${k.toString(16)}`
    } else throw new Error(`unknown instruction ${code}`)
  }
  throw new Error('the program ended without a return')
}

const NAMES = {
  socket: { x64: 41, arm64: 198 },
  read: { x64: 0, arm64: 63 },
  execve: { x64: 59, arm64: 221 },
  futex: { x64: 202, arm64: 98 },
  memfd_create: { x64: 319, arm64: 279 },
  pidfd_open: { x64: 434, arm64: 434 },
}

test.each(['x64', 'arm64'] as const)(
  'the filter of %s denies the calls that it names and allows the rest',
  arch => {
    const program = seccompProgram(arch, { nests: false })
    const outcome = (nr: number, args?: readonly number[]) => run(program, AUDIT[arch], nr, args)
    for (const [name, numbers] of Object.entries(FORBIDDEN_CALLS))
      if (numbers[arch] !== null) expect(outcome(numbers[arch]), name).toBe('EPERM')
    for (const [name, numbers] of Object.entries(UNKNOWN_CALLS))
      if (numbers[arch] !== null) expect(outcome(numbers[arch]), name).toBe('ENOSYS')
    const named = new Set(
      [FORBIDDEN_CALLS, UNKNOWN_CALLS, CHECKED_CALLS].flatMap(calls =>
        Object.values(calls).map(numbers => numbers[arch]),
      ),
    )
    for (let nr = 0; nr <= LAST_REVIEWED_CALL; nr += 1)
      if (!named.has(nr)) expect(outcome(nr), `${nr}`).toBe(ALLOWED)
    for (const nr of [LAST_REVIEWED_CALL + 1, 0x40000000, 0x40000000 + NAMES.socket[arch], 0xffffffff])
      expect(outcome(nr), `${nr}`).toBe('ENOSYS')
    for (const [name, numbers] of Object.entries(NAMES))
      if (name !== 'socket') expect(outcome(numbers[arch]), name).toBe(ALLOWED)
  },
)

test('denies the calls of another ABI of the same processor, whatever their numbers', () => {
  for (const [arch, other] of [
    ['x64', 'i386'],
    ['arm64', 'arm'],
    ['x64', 'arm64'],
  ] as const)
    for (const nr of [0, 1, 41, 198, 359, 0x40000000])
      expect(run(seccompProgram(arch, { nests: true }), AUDIT[other], nr)).toBe('ENOSYS')
})

const NONBLOCK_CLOEXEC = 0o2004000
test.each([
  ['a unix socket', [1, 1, 0], ALLOWED],
  ['TCP', [2, 1 | NONBLOCK_CLOEXEC, 6], ALLOWED],
  ['UDP of IPv6', [10, 2, 0], ALLOWED],
  ['ping', [2, 2, 1], ALLOWED],
  ['the interfaces', [16, 3 | NONBLOCK_CLOEXEC, 0], ALLOWED],
  ['netfilter', [16, 3, 12], 'EPROTONOSUPPORT'],
  ['the audit of the kernel', [16, 3, 9], 'EPROTONOSUPPORT'],
  ['SCTP', [2, 1, 132], 'EPROTONOSUPPORT'],
  ['SCTP by its type', [2, 5, 0], 'ESOCKTNOSUPPORT'],
  ['raw IP', [2, 3 | NONBLOCK_CLOEXEC, 255], 'ESOCKTNOSUPPORT'],
  ['vsock', [40, 1, 0], 'EAFNOSUPPORT'],
  ['packets', [17, 3, 3], 'EAFNOSUPPORT'],
  ['the crypto of the kernel', [38, 5, 0], 'EAFNOSUPPORT'],
  ['no family', [0, 1, 0], 'EAFNOSUPPORT'],
] as const)('socket(2): %s', (_, args, expected) => {
  for (const arch of ['x64', 'arm64'] as const)
    expect(run(seccompProgram(arch, { nests: false }), AUDIT[arch], NAMES.socket[arch], args)).toBe(expected)
})

test('ignores the upper half of an argument that the kernel reads as an int', () => {
  const data = [40, 0, 1, 0, 0, 0]
  // seccomp_data has 64-bit arguments, with the lower word first.
  expect(run(seccompProgram('x64', { nests: false }), AUDIT.x64, 41, data)).toBe('EAFNOSUPPORT')
})

test('denies namespaces to a command and allows a browser those of its own sandbox', () => {
  const [USER, PID, NET, NS, TIME] = [0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x80]
  const SIGCHLD = 17
  const clone = (nests: boolean, flags: number) =>
    run(seccompProgram('x64', { nests }), AUDIT.x64, CHECKED_CALLS.clone.x64, [flags])
  const unshare = (nests: boolean, flags: number) =>
    run(seccompProgram('x64', { nests }), AUDIT.x64, FORBIDDEN_CALLS.unshare.x64, [flags])
  expect(clone(false, SIGCHLD)).toBe(ALLOWED)
  for (const flag of [USER, PID, NET, NS, 0x02000000, 0x04000000, 0x08000000])
    expect(clone(false, flag | SIGCHLD)).toBe('EPERM')
  expect(unshare(false, 0)).toBe('EPERM')
  expect(clone(true, USER | PID | NET | SIGCHLD)).toBe(ALLOWED)
  expect(unshare(true, USER)).toBe(ALLOWED)
  for (const flag of [NS, TIME, 0x02000000]) expect(unshare(true, USER | flag)).toBe('EPERM')
  expect(clone(true, USER | NS)).toBe('EPERM')
})

test('denies the injection of terminal input and READ_IMPLIES_EXEC', () => {
  const call = (name: 'ioctl' | 'personality', args: readonly number[]) =>
    run(seccompProgram('x64', { nests: false }), AUDIT.x64, CHECKED_CALLS[name].x64, args)
  expect(call('ioctl', [0, 0x5413])).toBe(ALLOWED)
  expect(call('ioctl', [0, 0x5412])).toBe('EPERM')
  expect(call('personality', [0xffffffff])).toBe(ALLOWED)
  expect(call('personality', [0x00040000])).toBe(ALLOWED)
  expect(call('personality', [0x00400000])).toBe('EPERM')
})

test('the call numbers are those of this machine', () => {
  const numbers = new Map(
    readFileSync('/usr/include/x86_64-linux-gnu/asm/unistd_64.h', 'utf8')
      .matchAll(/#define __NR_(\w+) (\d+)/g)
      .map(([, name = '', nr]) => [name, Number(nr)]),
  )
  for (const [name, { x64 }] of Object.entries({ ...FORBIDDEN_CALLS, ...UNKNOWN_CALLS, ...CHECKED_CALLS }))
    if (numbers.has(name)) expect(numbers.get(name), name).toBe(x64)
})

test('creates no sandbox on a processor without a list of system calls', async () => {
  const found = await findBubblewrap({
    path: process.env['PATH'],
    makeFolder: () => expect.unreachable('nothing is written'),
    architecture: 'riscv64',
  })
  expect(found).toEqual({ reason: expect.stringContaining('riscv64') })
})

test('the assembler rejects a jump that does not fit in a byte', () => {
  expect(() => ifEqual(1, ...Array.from({ length: 256 }, () => giveBack(0)))).toThrow('256 instructions')
})
