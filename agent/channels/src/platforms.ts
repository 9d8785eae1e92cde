/** The platforms that are built, by the name that the configuration gives them. */
import type { ChannelConfig } from '@cairn/protocol'
import type { Adapter } from './adapter.ts'
import { createWebhookAdapter } from './webhook/adapter.ts'

type Making = {
  id: string
  env: Readonly<Record<string, string | undefined>>
}
type Platform = ChannelConfig['platform']
type ConfigOf<P extends Platform> = Extract<ChannelConfig, { platform: P }>

const MAKERS: { [P in Platform]: (settings: ConfigOf<P>, making: Making) => Adapter } = {
  webhook: ({ secret_env, callback_url }, { id, env }) =>
    createWebhookAdapter({
      connectionId: id,
      secret: secretOf(env, secret_env),
      callbackUrl: callback_url,
    }),
}

/** Throws, in words for the operator, where the configuration cannot work. */
export const createAdapter = (settings: ChannelConfig, making: Making): Adapter =>
  MAKERS[settings.platform](settings, making)

function secretOf(env: Making['env'], name: string): string {
  const secret = env[name]
  if (secret === undefined || secret === '')
    throw new Error(`the environment variable ${name} is not set: it must hold the secret`)
  return secret
}

/** Values that must reach no event and no log line. */
export const secretsOfChannels = (
  channels: Readonly<Record<string, ChannelConfig>>,
  env: Making['env'],
): string[] => Object.values(channels).flatMap(({ secret_env }) => env[secret_env] ?? [])

/** Connections that would take what is signed for this one. */
export function sharersOf(
  name: string,
  channels: Readonly<Record<string, ChannelConfig>>,
  env: Making['env'],
): string[] {
  const valueOf = (channel: ChannelConfig | undefined): string =>
    (env[channel?.secret_env ?? ''] ?? '').replace(/^whsec_/, '')
  const secret = valueOf(channels[name])
  return Object.keys(channels).filter(
    other => other !== name && secret !== '' && valueOf(channels[other]) === secret,
  )
}
