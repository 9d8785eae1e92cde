/**
 * The arguments for Podman and the parsing of its answers. For containers themselves: npm run
 * interop:containers.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SandboxConfig } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { containerArguments, type ContainerView } from './container-arguments.ts'
import { engineEnvironment, readContainers } from './container-engine.ts'
import { environmentMessage, readOutcome } from './container-init.ts'
import { checkProbe } from './choose-container.ts'
import { narrowedProfile } from './container-seccomp.ts'

function makeWorkspace(): string {
  const workspace = mkdtempSync(join(tmpdir(), 'cairn-container-'))
  onTestFinished(() => rmSync(workspace, { recursive: true }))
  return workspace
}

const argumentsOf = (view: Partial<ContainerView> = {}): string[] =>
  containerArguments({
    id: 'cairn-s1-terminal',
    workspace: makeWorkspace(),
    network: 'none',
    kind: { runtime: null, flags: [], root: { folder: '/tmp/root' }, seccomp: '/tmp/seccomp.json' },
    name: 'cairn-1',
    leash: '/tmp/leash',
    limits: SandboxConfig.parse({ memory_mb: 128, pids: 60 }),
    hidden: [],
    labels: { 'cairn.service': '/tmp/service' },
    uid: 0,
    hasStdin: false,
    ...view,
  })

/**
 * Promise 11.8, 11.9: A Podman sandbox has no network, no privileges and its limits, like a bubblewrap
 * sandbox.
 */
test('a container has no network, no capabilities, its limits and our labels', () => {
  const said = argumentsOf()
  expect(said).toEqual(
    expect.arrayContaining([
      '--network=none',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      '--security-opt=seccomp=/tmp/seccomp.json',
      '--read-only',
      '--user=1000:1000',
      '--memory=128m',
      '--memory-swap=128m',
      '--pids-limit=60',
      'cairn.service=/tmp/service',
      'cairn.box=cairn-s1-terminal',
    ]),
  )
  expect(said).not.toContain('--interactive')
  expect(said.slice(-2)).toEqual(['--rootfs', '/tmp/root'])
  expect(said.join(' ')).not.toMatch(/--privileged|cap-add|--env/)
})

test('the user of the service has the id 1000 in the container', () => {
  expect(argumentsOf().join(' ')).toContain('--uidmap 0:1879048192:1 --uidmap 1000:0:1')
  expect(argumentsOf({ uid: 1001 }).join(' ')).toContain('--userns keep-id:uid=1000,gid=1000')
})

test('an image has its own programs, and a folder shows those of the machine except hidden paths', () => {
  const image = `registry.example.org/box@sha256:${'a'.repeat(64)}`
  const kind = { runtime: null, flags: [], root: { image }, seccomp: '/tmp/s' }
  const withImage = argumentsOf({ kind, hidden: ['/usr/secret'] })
  expect(withImage.at(-1)).toBe(image)
  expect(withImage.join(' ')).not.toMatch(/source=\/usr|\/usr\/secret/)
  const shown = argumentsOf({ hidden: ['/usr/secret', '/home/me'] }).join(' ')
  expect(shown).toContain('type=bind,source=/usr,target=/usr,readonly')
  expect(shown).toContain('--tmpfs /usr/secret:ro')
  expect(shown).not.toContain('/home/me')
})

test('a path with a comma or a quote stays one field of a mount', () => {
  const said = argumentsOf({ binds: [{ from: '/a,readonly', to: '/b"', writable: true }] })
  expect(said).toContain('type=bind,"source=/a,readonly","target=/b""",bind-propagation=rprivate')
})

test('mounts .cairn of a workspace read-only and does not follow a link there', () => {
  const workspace = makeWorkspace()
  mkdirSync(join(workspace, '.cairn'))
  expect(argumentsOf({ workspace }).join(' ')).toContain(`target=${workspace}/.cairn,readonly`)
  const linked = makeWorkspace()
  symlinkSync('/etc', join(linked, '.cairn'))
  expect(argumentsOf({ workspace: linked }).join(' ')).not.toContain('.cairn,')
})

test('gVisor has no network unless the policy opens it, and its threads count beside the processes', () => {
  const kind = { runtime: '/usr/bin/runsc', flags: ['host-uds=open'], root: { folder: '/r' }, seccomp: '/s' }
  const closed = argumentsOf({ kind }).join(' ')
  expect(closed).toContain(
    '--runtime /usr/bin/runsc --runtime-flag host-uds=open --runtime-flag network=none',
  )
  expect(closed).toContain('--pids-limit=316')
  expect(argumentsOf({ kind, network: 'open' }).join(' ')).toContain('--runtime-flag network=host')
})

test('Podman gets its own variables and no secret of the service', () => {
  expect(engineEnvironment({ PATH: '/bin', XDG_RUNTIME_DIR: '/run/1', ANTHROPIC_API_KEY: 'key' })).toEqual({
    PATH: '/bin',
    XDG_RUNTIME_DIR: '/run/1',
  })
})

test('sends the environment over the leash, each variable ended by a null byte', () => {
  expect(environmentMessage({ A: '1=2\n', EMPTY: '' })).toMatch(/^PATH=[^\0]+\0A=1=2\n\0EMPTY=\0\0$/)
  expect(environmentMessage({ 'B=C': 'x', D: 'with\0null' })).not.toMatch(/B=C|with/)
})

test('reads the outcome of the command from init, and none from incomplete output', () => {
  expect(readOutcome('3\n')).toEqual({ exitCode: 3, usedTooMuchMemory: false })
  expect(readOutcome('137 memory\n')).toEqual({ exitCode: 137, usedTooMuchMemory: true })
  expect(['', '3', 'memory\n'].map(readOutcome)).toEqual([null, null, null])
})

test('reads containers with their labels', () => {
  const json = '[{"Id":"a","Labels":{"cairn.box":"x"}},{"Id":"b","Labels":null}]'
  expect(readContainers(json)).toEqual([
    { id: 'a', labels: { 'cairn.box': 'x' } },
    { id: 'b', labels: {} },
  ])
})

const GOOD = [
  'uid 1000',
  'CapEff:\t0000000000000000',
  'CapBnd:\t0000000000000000',
  'NoNewPrivs:\t1',
  'interfaces lo',
  'memory 134217728',
].join('\n')
test.each([
  [GOOD, null],
  [GOOD.replace('uid 1000', 'uid 0'), /user/],
  [GOOD.replace('CapEff:\t0', 'CapEff:\t1'), /capabilities \(CapEff\)/],
  [GOOD.replace('NoNewPrivs:\t1', 'NoNewPrivs:\t0'), /privileges/],
  [GOOD.replace('lo', 'lo eth0'), /network/],
  [`${GOOD}\nmade`, /root/],
  [GOOD.replace('134217728', '9223372036854771712'), /memory/],
  ['', /user/],
] as const)('rejects a container that is weaker than it should be: %#', (said, problem) => {
  const found = checkProbe(said, { memory_mb: 128 })
  if (problem === null) expect(found).toBeNull()
  else expect(found).toMatch(problem)
})

const socketRule = (name: string, checks: readonly (readonly number[])[]) => ({
  names: [name],
  action: 'SCMP_ACT_ALLOW',
  args: checks.map(([index, value]) => ({ index, value, valueTwo: 0, op: 'SCMP_CMP_EQ' })),
})

test('the profile denies namespaces, mounts, access to other processes and other sockets', () => {
  const json = JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    syscalls: [
      {
        names: ['read', 'pselect6', 'clone', 'clone3', 'unshare', 'mount', 'ptrace', 'socketcall', 'keyctl'],
        action: 'SCMP_ACT_ALLOW',
      },
      { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: 16, op: 'SCMP_CMP_NE' }] },
      { names: ['bpf', 'setns'], action: 'SCMP_ACT_ERRNO', errnoRet: 1 },
    ],
  })
  expect(JSON.parse(narrowedProfile(json))).toEqual({
    defaultAction: 'SCMP_ACT_ERRNO',
    syscalls: [
      // gVisor's name for it, beside the kernel's.
      { names: ['read', 'pselect6', 'pselect'], action: 'SCMP_ACT_ALLOW' },
      { names: ['bpf', 'setns'], action: 'SCMP_ACT_ERRNO', errnoRet: 1 },
      {
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: 0x7e020000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      },
      // AF_UNIX; AF_INET and AF_INET6 with five protocols each; AF_NETLINK with NETLINK_ROUTE.
      ...[
        [[0, 1]],
        ...[2, 10].flatMap(family =>
          [0, 1, 6, 17, 58].map(protocol => [
            [0, family],
            [2, protocol],
          ]),
        ),
        [
          [0, 16],
          [2, 0],
        ],
      ].map(checks => socketRule('socket', checks)),
      socketRule('socketpair', [[0, 1]]),
    ],
  })
})
