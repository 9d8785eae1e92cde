/**
 * Sagas as a row of the capabilities: one is active while the agent works, and ends committed with the turn
 * that had steps. An interrupted one is rolled back at the next claim, before anything else.
 */
import { policyOf } from '../../governance/agent.ts'
import { sessionOwner } from '../../tools/account-owner.ts'
import type { CallSteps } from '../../tools/call-steps.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { sagaStart } from './events.ts'
import { completeSaga, owesRollBack, rollBack, type RollBackDeps } from './roll-back.ts'
import { sagaSteps } from './steps.ts'

/** The steps of the running saga; if none runs, one starts in the next commit. */
function keepSaga({ log, setup, clock, newId }: TurnContext): CallSteps | null {
  const { enabled, undo } = setup.agent.saga
  if (!enabled) return null
  const running = log.position().saga
  let saga_id = running?.status === null ? running.saga_id : null
  if (saga_id === null) {
    saga_id = newId()
    log.startWith(sagaStart({ saga_id, session_id: log.session().id, timestamp: clock.now() / 1000 }))
  }
  return sagaSteps(saga_id, undo, { clock, newId, saga: () => log.position().saga })
}

/** A rollback needs the tools and the folders, not the agent. */
const prepareRollBack = async (
  { clock, tools, findTool, config, shutdown }: RunnerDeps,
  { session, lease, log, makeFolders }: Claimed,
): Promise<RollBackDeps> => ({
  log,
  lease,
  clock,
  tools: tools(sessionOwner(session)),
  findTool: (name, signal) => findTool(name, signal, sessionOwner(session)),
  policy: policyOf(config, session),
  timeoutMs: config.limits.tool_timeout_s * 1000,
  ...(await makeFolders()),
  draining: () => shutdown.aborted,
})

export const sagas = (runner: RunnerDeps): Capability => ({
  name: 'sagas',
  atClaim: {
    isDue: ({ saga }) => owesRollBack(saga),
    act: async claimed => rollBack(await prepareRollBack(runner, claimed)),
  },
  beforeRequest(turn) {
    keepSaga(turn)
    return Promise.resolve()
  },
  callSteps: keepSaga,
  onEnd({ log, clock }) {
    const { saga } = log.position()
    // A saga without steps continues: it was activated for the session, not for this turn.
    const ends = saga?.status === null && saga.steps.length > 0
    return Promise.resolve({ before: ends ? [completeSaga(saga, 'committed', clock)] : [] })
  },
})
