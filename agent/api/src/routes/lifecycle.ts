/** Pause, resume, retry, stop (contract 6). */
import type { SessionRow } from '@cairn/log'
import type { Session } from '@cairn/protocol'
import {
  type Deps,
  pauseSession as pause,
  resumeSession as resume,
  retrySession as retry,
  stopSession as stop,
} from '@cairn/sessions'
import type { Call, Handler } from '../handler.ts'
import { shownSession } from './session-view.ts'

type Change = 'pauseSession' | 'resumeSession' | 'retrySession'

/** Wraps a command in the access check; the response is the session afterwards. */
const changing =
  (change: (deps: Deps, sessionId: string) => Promise<SessionRow>) =>
  async ({ services, principal, params }: Call<Change>): Promise<Session> => {
    await services.guard.check(principal, params.id)
    return shownSession(services, await change(services, params.id))
  }

export const pauseSession: Handler<'pauseSession'> = changing(pause)
export const resumeSession: Handler<'resumeSession'> = changing(resume)
export const retrySession: Handler<'retrySession'> = changing(retry)
export const stopSession: Handler<'stopSession'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  const { stopped, ...session } = await stop(services, params.id)
  return { ...(await shownSession(services, session)), stopped }
}
