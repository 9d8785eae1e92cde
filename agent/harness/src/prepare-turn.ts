/** Prepares a turn: the agent as its capabilities set it up, its tools and its folders. */
import { join } from 'node:path'
import type { SessionRow } from '@cairn/log'
import { childConfig, workspaceOf } from '@cairn/sessions'
import { sessionFolder } from '@cairn/workspace'
import { setUpAgent } from './agent.ts'
import { bindAsks, goesFirst } from './capabilities.ts'
import type { Capability, Claimed, Folders } from './turn/capability.ts'
import type { TurnContext } from './turn/context.ts'
import type { Runner } from './runner.ts'

export async function prepareTurn(
  runner: Runner,
  { session, lease, log, report, makeFolders: folders }: Claimed,
  capabilities: readonly Capability[],
): Promise<TurnContext> {
  const { store, models, config, clock, random, newId, redact, streamRedactor, shutdown } = runner
  const made = folders()
  // Awaited further down; a failure before that must not leave its rejection unhandled.
  made.catch(() => undefined)
  let setup = setUpAgent(config, session)
  for (const capability of capabilities) setup = (await capability.setUp?.(setup)) ?? setup
  const begun = runner.tools()
  let tools = begun
  for (const capability of capabilities) tools = [...tools, ...(capability.tools?.(setup, tools) ?? [])]
  const ofCapabilities = tools.slice(begun.length)
  const turn = {
    store,
    log,
    lease,
    clock,
    config,
    limits: config.limits,
    setup,
    models,
    capabilities,
    tools: () => [...runner.tools(), ...ofCapabilities],
    findTool: runner.findTool,
    ...(await made),
    written: new Map<string, string>(),
    streamRedactor,
    redact,
    worker_id: runner.id,
    newId,
    random,
    draining: () => shutdown.aborted,
    report,
  }
  const asking = bindAsks(capabilities, turn)
  return { ...turn, asking, goesFirst: goesFirst(asking) }
}

export async function makeFolders(
  { workspacesDir, dataDir, makeFolder, copies }: Runner,
  session: SessionRow,
  signal: AbortSignal,
): Promise<Folders> {
  const copied = childConfig(session)?.copied_from
  if (copied !== undefined) await copies.make(session.id, copied, signal)
  const workspace = await makeFolder(workspacesDir, workspaceOf(session))
  // The store creates its folder when something is stored: most turns store nothing.
  return { workspace, checkpoints: sessionFolder(join(dataDir, 'checkpoints'), session.id) }
}
