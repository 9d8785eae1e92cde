/** Checks whether the configured connections can work, before anything runs. */
import { asError, type Config } from '@cairn/protocol'
import { createAdapter, type Env, sharedSecretOf } from './platforms.ts'

const CHECK_MS = 20_000

/**
 * `problem`: a message for the operator, null if none was found. `isTried`: the platform's servers were
 * asked.
 */
export type CheckedChannel = { name: string; problem: string | null; isTried: boolean }

export const checkChannels = (
  { channels }: Pick<Config, 'channels'>,
  env: Env,
  now: () => number,
): Promise<CheckedChannel[]> =>
  Promise.all(
    Object.entries(channels).map(async ([name, settings]) => {
      try {
        const shared = sharedSecretOf(settings, env)
        const [twin] = Object.keys(channels).filter(
          other =>
            other !== name && shared !== '' && sharedSecretOf(channels[other] ?? settings, env) === shared,
        )
        if (twin !== undefined) throw new Error(`uses the same account or secret as the channel ${twin}`)
        const adapter = await createAdapter(settings, { id: name, env, now, fetch })
        await adapter.check?.(AbortSignal.timeout(CHECK_MS))
        return { name, problem: null, isTried: adapter.check !== undefined }
      } catch (error) {
        return { name, problem: asError(error).message, isTried: true }
      }
    }),
  )
