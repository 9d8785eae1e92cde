/** The implemented platforms, by their names in the configuration. */
import type { ChannelConfig } from '@cairn/protocol'
import type { Adapter } from './adapter.ts'
import type { Send } from './send-request.ts'
import { createWebhookAdapter } from './webhook/adapter.ts'
import { createWebsiteAdapter } from './website/adapter.ts'

/** Environment variables with the secrets that the settings name. */
export type Env = Readonly<Record<string, string | undefined>>
type Making = {
  id: string
  now: () => number
  env: Env
  /** For requests to URLs of the settings. */
  fetch: Send
}
type Platform = ChannelConfig['platform']
type ConfigOf<P extends Platform> = Extract<ChannelConfig, { platform: P }>

/** Libraries of a platform, some 10 MB in all, are loaded with the first connection to it. */
const MAKERS: { [P in Platform]: (settings: ConfigOf<P>, making: Making) => Adapter | Promise<Adapter> } = {
  webhook: ({ secret_env, callback_url }, { id, env, fetch }) =>
    createWebhookAdapter({
      fetch,
      connectionId: id,
      secret: secretOf(env, secret_env),
      callbackUrl: callback_url,
    }),
  slack: async (settings, { id, env, now }) => {
    const { createSlackAdapter } = await import('./slack/adapter.ts')
    return createSlackAdapter({
      ...settings,
      connectionId: id,
      botToken: secretOf(env, settings.bot_token_env),
      signingSecret: settings.mode === 'events' ? secretOf(env, settings.signing_secret_env ?? '') : null,
      appToken: settings.mode === 'socket' ? secretOf(env, settings.app_token_env ?? '') : null,
      apiUrl: settings.api_url,
      now,
    })
  },
  whatsapp: async (
    { phone_number_id, token_env, app_secret_env, verify_token_env, template, api_url },
    { env, now },
  ) => {
    const { createWhatsAppAdapter } = await import('./whatsapp/adapter.ts')
    return createWhatsAppAdapter({
      phoneNumberId: phone_number_id,
      token: secretOf(env, token_env),
      appSecret: secretOf(env, app_secret_env),
      verifyToken: secretOf(env, verify_token_env),
      template: template ?? null,
      apiUrl: api_url,
      now,
    })
  },
  discord: async ({ token_env, groups, reply_in, api_url }, { env }) => {
    const { createDiscordAdapter } = await import('./discord/adapter.ts')
    return createDiscordAdapter({
      token: secretOf(env, token_env),
      groups,
      reply_in,
      apiUrl: api_url.replace(/\/$/, ''),
    })
  },
  website: ({ identity_secret_env }, { id, env }) => {
    if (identity_secret_env !== undefined) secretOf(env, identity_secret_env)
    return createWebsiteAdapter(id)
  },
  email: async (
    { address, agent = 'Cairn', imap, smtp, webhook_secret_env, reply_address, token_secret_env, ...rest },
    { id, env, now },
  ) => {
    const { createEmailAdapter } = await import('./email/adapter.ts')
    return createEmailAdapter({
      connectionId: id,
      address,
      name: agent,
      imap: imap === undefined ? null : { ...imap, password: secretOf(env, imap.password_env) },
      webhookSecret: webhook_secret_env === undefined ? null : secretOf(env, webhook_secret_env),
      smtp: {
        ...smtp,
        password: smtp.password_env === undefined ? null : secretOf(env, smtp.password_env),
      },
      authservId: rest.authserv_id ?? null,
      tokens:
        reply_address === undefined || token_secret_env === undefined
          ? null
          : { address: reply_address, secret: longSecretOf(env, token_secret_env) },
      perSecond: rest.per_second,
      perHour: rest.per_hour,
      now,
    })
  },
  telegram: async (
    { token_env, groups, api_root, mode, public_url, webhook_secret_env = '' },
    { id, env },
  ) => {
    const { createTelegramAdapter } = await import('./telegram/adapter.ts')
    return createTelegramAdapter({
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
    })
  },
}

/** Rejects, with a message for the operator, if the configuration cannot work. */
export const createAdapter = async (settings: ChannelConfig, making: Making): Promise<Adapter> =>
  (MAKERS[settings.platform] as (settings: ChannelConfig, making: Making) => Adapter | Promise<Adapter>)(
    settings,
    making,
  )

function secretOf(env: Env, name: string): string {
  const secret = env[name]
  if (secret === undefined || secret === '')
    throw new Error(`the environment variable ${name} is not set: it must contain the secret`)
  return secret
}

const TOKEN_SECRET = 32
function longSecretOf(env: Env, name: string): string {
  const secret = secretOf(env, name)
  if (secret.length < TOKEN_SECRET)
    throw new Error(`the environment variable ${name} has fewer than ${TOKEN_SECRET} characters`)
  return secret
}

/**
 * Values that must never reach an event or a log line: those named by keys that end with _env, at any depth.
 */
export const secretsOf = (settings: object, env: Env): string[] =>
  Object.entries(settings).flatMap(([key, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? secretsOf(value, env)
      : key.endsWith('_env') && typeof value === 'string'
        ? (env[value] ?? [])
        : [],
  )

/** Secrets that a second connection must not have, because both would accept the same messages. */
const SHARED_SECRETS: { [P in Platform]: ((settings: ConfigOf<P>, env: Env) => string | undefined) | null } =
  {
    webhook: ({ secret_env }, env) => env[secret_env]?.replace(/^whsec_/, ''),
    telegram: ({ token_env }, env) => env[token_env],
    discord: ({ token_env }, env) => env[token_env],
    email: mailboxOf,
    slack: null,
    whatsapp: null,
    website: null,
  }

/** Another connection with this secret would accept what is meant for this one; empty if there is none. */
export const sharedSecretOf = (settings: ChannelConfig, env: Env): string =>
  (SHARED_SECRETS[settings.platform] as ((settings: ChannelConfig, env: Env) => string | undefined) | null)?.(
    settings,
    env,
  ) ?? ''

/** Two connections that read one mailbox, or share a webhook secret, would both answer each email. */
function mailboxOf({ imap, webhook_secret_env = '' }: ConfigOf<'email'>, env: Env): string {
  return imap === undefined
    ? (env[webhook_secret_env] ?? '').replace(/^whsec_/, '')
    : `${imap.user}@${imap.host}:${imap.port}/${imap.mailbox}`
}
