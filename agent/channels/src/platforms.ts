/** The platforms that are built, by the name that the configuration gives them. */
import type { ChannelConfig } from '@cairn/protocol'
import type { Adapter } from './adapter.ts'
import { createSlackAdapter } from './slack/adapter.ts'
import { createTelegramAdapter } from './telegram/adapter.ts'
import { createWebhookAdapter } from './webhook/adapter.ts'
import { createWebsiteAdapter } from './website/adapter.ts'
import { createWhatsAppAdapter } from './whatsapp/adapter.ts'

type Making = {
  id: string
  now: () => number
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
  slack: (settings, { id, env, now }) =>
    createSlackAdapter({
      ...settings,
      connectionId: id,
      botToken: secretOf(env, settings.bot_token_env),
      signingSecret: settings.mode === 'events' ? secretOf(env, settings.signing_secret_env ?? '') : null,
      appToken: settings.mode === 'socket' ? secretOf(env, settings.app_token_env ?? '') : null,
      apiUrl: settings.api_url,
      now,
    }),
  whatsapp: (
    { phone_number_id, token_env, app_secret_env, verify_token_env, template, api_url },
    { env, now },
  ) =>
    createWhatsAppAdapter({
      phoneNumberId: phone_number_id,
      token: secretOf(env, token_env),
      appSecret: secretOf(env, app_secret_env),
      verifyToken: secretOf(env, verify_token_env),
      template: template ?? null,
      apiUrl: api_url,
      now,
    }),
  website: ({ identity_secret_env }, { id, env }) => {
    if (identity_secret_env !== undefined) secretOf(env, identity_secret_env)
    return createWebsiteAdapter(id)
  },
  telegram: ({ token_env, groups, api_root, mode, public_url, webhook_secret_env = '' }, { id, env }) =>
    createTelegramAdapter({
      token: secretOf(env, token_env),
      groups,
      apiRoot: api_root,
      webhook:
        mode === 'poll'
          ? null
          : {
              url: `${public_url}/v1/channels/${id}/webhook`,
              secret: secretOf(env, webhook_secret_env),
            },
    }),
}

/** Throws, in words for the operator, where the configuration cannot work. */
export const createAdapter = (settings: ChannelConfig, making: Making): Adapter =>
  (MAKERS[settings.platform] as (settings: ChannelConfig, making: Making) => Adapter)(settings, making)

function secretOf(env: Making['env'], name: string): string {
  const secret = env[name]
  if (secret === undefined || secret === '')
    throw new Error(`the environment variable ${name} is not set: it must hold the secret`)
  return secret
}

/** Values that must reach no event and no log line: keys of a connection that end with _env name them. */
export const secretsOfChannels = (
  channels: Readonly<Record<string, ChannelConfig>>,
  env: Making['env'],
): string[] =>
  Object.values(channels).flatMap(channel =>
    Object.entries(channel).flatMap(([key, value]) =>
      key.endsWith('_env') && typeof value === 'string' ? (env[value] ?? []) : [],
    ),
  )

/** Connections that would take what is signed for this one. */
export function sharersOf(
  name: string,
  channels: Readonly<Record<string, ChannelConfig>>,
  env: Making['env'],
): string[] {
  const valueOf = (channel: ChannelConfig | undefined): string =>
    channel?.platform === 'webhook'
      ? (env[channel.secret_env] ?? '').replace(/^whsec_/, '')
      : channel?.platform === 'telegram'
        ? (env[channel.token_env] ?? '')
        : ''
  const secret = valueOf(channels[name])
  return Object.keys(channels).filter(
    other => other !== name && secret !== '' && valueOf(channels[other]) === secret,
  )
}
