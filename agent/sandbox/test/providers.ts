/** What tests run commands in: the box, and each way of holding commands without one. */
import { type SandboxConfig, SandboxConfig as Schema } from '@cairn/protocol'
import type { SandboxProvider } from '../src/sandbox.ts'
import { chooseSandbox } from '../src/choose.ts'
import { findCgroupContainer } from '../src/cgroup.ts'
import type { ProcessContainer } from '../src/process-container.ts'
import { tagContainer } from '../src/process-tags.ts'
import { openSandbox } from '../src/open-sandbox.ts'
import { findNamespaceContainer } from '../src/pid-namespace.ts'
import { findSubreaper } from '../src/subreaper.ts'
import { ownGroup } from '../src/unsandboxed.ts'
import { createWatchdog } from '../src/watchdog.ts'

type MakeHolder = (workspace: string) => ProcessContainer
type Settings = Partial<SandboxConfig>
const path = process.env['PATH']

/** `npm run dev -- interop:containers` runs the tests of boxes over these: `container`, `container:runsc`. */
const [kind = 'bubblewrap', runtime] = (process.env['CAIRN_TEST_BOXES'] ?? 'bubblewrap').split(':')
export const ofTheRun = { provider: kind, runtime: runtime ?? null }

/** The box as the service has it. A machine without one fails here, and says why. */
export async function sandboxed(
  settings: Settings = {},
  hidden: readonly string[] = [],
): Promise<SandboxProvider> {
  const { provider, standing } = await chooseSandbox({
    config: Schema.parse({ ...ofTheRun, ...settings }),
    path,
    hidden,
    claims: false,
  })
  if (provider === null) throw new Error(standing.summary)
  return provider
}

export function unsandboxed(holder: ProcessContainer | MakeHolder, settings: Settings = {}): SandboxProvider {
  const limits = Schema.parse(settings)
  const watchdog = createWatchdog()
  const holderOf = typeof holder === 'function' ? holder : () => holder
  return {
    kind: 'unboxed',
    network: 'open',
    cutsNetwork: false,
    hasProxies: false,
    holdsBrowsers: false,
    caveat: null,
    open: spec => openSandbox(spec, { holder: holderOf(spec.workspace), limits, home: null, watchdog }),
    list: () => Promise.resolve([]),
    remove: () => Promise.resolve(),
  }
}

/** By name, each of those that this machine has; a test that needs one says so. */
export const CONTAINERS: Readonly<
  Record<ProcessContainer['kind'], () => Promise<ProcessContainer | MakeHolder | null>>
> = {
  'pid namespace': () => findNamespaceContainer(path),
  'control group': () => findCgroupContainer(ownGroup()),
  subreaper: () => findSubreaper(path),
  marks: () => Promise.resolve(tagContainer),
}
