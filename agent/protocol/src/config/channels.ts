/** Configuration of messaging channels and of the AI disclosure. */
import { z } from 'zod'
import { ImapServer, emailAddress, SmtpServer } from './email.ts'

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')

export const DISCLOSURE_LEVELS = ['none', 'basic', 'enhanced', 'full'] as const
export type DisclosureLevel = (typeof DISCLOSURE_LEVELS)[number]
export const DISCLOSURE_LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl'] as const
export type DisclosureLanguage = (typeof DISCLOSURE_LANGUAGES)[number]

const DisclosureKeys = z.strictObject({
  level: z.enum(DISCLOSURE_LEVELS).optional().describe('how detailed the AI disclosure is'),
  operator: z.string().min(1).optional().describe('public name of the operator of the service'),
  human_contact: z.string().min(1).optional().describe('how to reach a person'),
  privacy_url: z.url().optional(),
  language: z
    .enum(DISCLOSURE_LANGUAGES)
    .optional()
    .describe('language if the platform does not report that of its user; absent: en'),
  texts: z
    .partialRecord(
      z.string().regex(/^[a-z]{2}$/, 'must be a language of two letters'),
      z.partialRecord(z.enum(DISCLOSURE_LEVELS), z.string().min(1)),
    )
    .optional()
    .describe('texts by language and level that replace those of the service'),
})
export const DisclosureConfig = DisclosureKeys.extend({
  level: z.enum(DISCLOSURE_LEVELS).default('none'),
  require_confirm: z
    .boolean()
    .default(false)
    .describe('web UI: reject messages of a user until the user accepts the disclosure'),
})
export type DisclosureConfig = z.infer<typeof DisclosureConfig>

const shared = {
  agent: z.string().optional().describe('absent: the default agent; required if access is open'),
  access: z
    .enum(['linked', 'allowlist', 'open'])
    .default('linked')
    .describe('who may write. linked: linked accounts; allowlist: also those in `allow`; open: everyone'),
  allow: z.array(z.string().min(1)).default([]).describe('user ids of the platform, for access: allowlist'),
  disclosure: DisclosureKeys.optional().describe('keys of the disclosure that differ for this channel'),
  streaming: z
    .enum(['edits', 'off'])
    .default('edits')
    .describe('whether to show an answer while it is generated, if the platform can edit messages'),
  on_unknown: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe('what to do with a part if it is unknown whether the platform accepted it'),
}

function hasCredentials(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}

const WebhookChannel = z.strictObject({
  platform: z.literal('webhook'),
  secret_env: envName.describe('holds whsec_ followed by at least 24 bytes in base64'),
  callback_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    // fetch rejects a URL with credentials, so every attempt would fail.
    .refine(url => !hasCredentials(url), {
      error: 'must not contain a user or password: requests are signed instead',
    })
    .describe('URL that receives the answers'),
  ...shared,
})

const SlackChannel = z
  .strictObject({
    platform: z.literal('slack'),
    mode: z
      .enum(['events', 'socket'])
      .default('socket')
      .describe('events: Slack calls this server. socket: this server calls Slack and needs no public URL'),
    bot_token_env: envName.describe('holds the bot token, xoxb-…'),
    app_token_env: envName.optional().describe('holds the app-level token, xapp-…; for mode: socket'),
    signing_secret_env: envName.optional().describe('holds the signing secret; for mode: events'),
    groups: z
      .enum(['mention', 'all'])
      .default('mention')
      .describe('messages accepted in channels: those that mention the app, or all'),
    reply_in: z
      .enum(['thread', 'channel'])
      .default('thread')
      .describe('what one conversation is in channels: a thread, or the channel'),
    api_url: z
      .url({ protocol: /^https?$/ })
      .default('https://slack.com/api/')
      .transform(url => (url.endsWith('/') ? url : `${url}/`))
      .describe('URL of the Web API; GovSlack has another'),
    ...shared,
  })
  .refine(({ mode, app_token_env }) => mode !== 'socket' || app_token_env !== undefined, {
    path: ['app_token_env'],
    error: 'is required for mode: socket',
  })
  .refine(({ mode, signing_secret_env }) => mode !== 'events' || signing_secret_env !== undefined, {
    path: ['signing_secret_env'],
    error: 'is required for mode: events',
  })

const origin = z
  .url({ protocol: /^https?$/ })
  .refine(url => URL.canParse(url) && new URL(url).origin === url, {
    error: 'must be an origin: scheme, host and port, without a path',
  })
const countMax = (preset: number, of: string) => z.int().min(1).default(preset).describe(of)
const WebsiteChannel = z.strictObject({
  platform: z.literal('website'),
  origins: z.array(origin).min(1).describe('the sites that may show the widget'),
  identity_secret_env: envName
    .optional()
    .describe('holds a secret of at least 32 characters with which the site signs the identity of a visitor'),
  require_confirm: z
    .boolean()
    .default(false)
    .describe('whether to reject messages until the visitor accepts the disclosure'),
  per_address_hour: z
    .strictObject({
      visitors_max: countMax(60, 'new visitors'),
      messages_max: countMax(300, 'messages and files'),
      mb_max: countMax(100, 'megabytes of messages and files'),
    })
    .prefault({})
    .describe('limits for visitors from one address within an hour'),
  per_day: z
    .strictObject({
      visitors_max: countMax(5_000, 'new visitors'),
      messages_max: countMax(10_000, 'messages and files'),
      mb_max: countMax(2_000, 'megabytes of messages and files'),
      tokens_max: countMax(20_000_000, 'tokens of the conversations'),
    })
    .prefault({})
    .describe('limits for all visitors together within 24 hours'),
  ...shared,
  access: z.literal('open').describe('always open: visitors have no account'),
})

const WhatsAppChannel = z.strictObject({
  platform: z.literal('whatsapp'),
  phone_number_id: z.string().regex(/^\d+$/, 'must be the id of the number, in digits'),
  token_env: envName.describe('holds the access token of a system user'),
  app_secret_env: envName.describe('holds the app secret with which Meta signs requests'),
  verify_token_env: envName.describe('holds the verify token that is entered at Meta'),
  template: z
    .strictObject({ name: z.string().min(1), language: z.string().min(2) })
    .optional()
    .describe('message template to send if the person must write first'),
  api_url: z
    .url({ protocol: /^https?$/ })
    .default('https://graph.facebook.com/v24.0/')
    .transform(url => (url.endsWith('/') ? url : `${url}/`))
    .describe('URL of the Graph API, with its version'),
  ...shared,
})

const TelegramChannel = z
  .strictObject({
    platform: z.literal('telegram'),
    token_env: envName.describe('holds the token that @BotFather gave'),
    mode: z
      .enum(['poll', 'webhook'])
      .default('poll')
      .describe(
        'poll: this server polls Telegram and needs no public URL. webhook: Telegram calls this server',
      ),
    public_url: z
      .url({ protocol: /^https$/, error: 'must be an https URL' })
      .transform(url => url.replace(/\/$/, ''))
      .optional()
      .describe('URL at which Telegram reaches this server; for mode: webhook'),
    webhook_secret_env: envName
      .optional()
      .describe('holds the secret that Telegram sends, 1 to 256 letters, digits, _ or -; for mode: webhook'),
    groups: z
      .enum(['mention', 'all'])
      .default('mention')
      .describe('messages accepted in groups: mentions of the bot, replies to it and commands, or all'),
    api_root: z
      .url({ protocol: /^https?$/ })
      .default('https://api.telegram.org')
      .transform(url => url.replace(/\/$/, ''))
      .describe('URL of the Bot API; change it to use your own server'),
    ...shared,
  })
  .refine(
    ({ mode, public_url, webhook_secret_env }) =>
      mode === 'poll' || (public_url !== undefined && webhook_secret_env !== undefined),
    { path: ['mode'], error: 'webhook needs public_url and webhook_secret_env' },
  )

const EmailChannel = z
  .strictObject({
    platform: z.literal('email'),
    address: emailAddress.describe('address that receives messages and sends answers'),
    imap: ImapServer.optional().describe('server of its mailbox; alternative: webhook_secret_env'),
    webhook_secret_env: envName
      .optional()
      .describe(
        'alternative to imap: holds the secret with which a mail server signs each email that it posts',
      ),
    smtp: SmtpServer.describe('server that sends its emails'),
    authserv_id: z
      .string()
      .min(1)
      .optional()
      .describe('id of the server whose Authentication-Results are trusted'),
    reply_address: z
      .string()
      .regex(/^[^@\s]*\{token\}[^@\s]*@[^@\s]+$/, 'must be an email address with {token} before the @')
      .optional()
      .describe('address for replies to emails of this channel, with {token} in it'),
    token_secret_env: envName
      .optional()
      .describe('holds a secret of at least 32 characters that signs its tokens'),
    per_second: z.number().positive().default(1).describe('max emails sent per second'),
    per_hour: z.int().min(1).default(100).describe('max emails sent per hour'),
    ...shared,
    allow: z.array(emailAddress).default([]).describe('email addresses, for access: allowlist'),
  })
  .refine(({ imap, webhook_secret_env }) => (imap === undefined) !== (webhook_secret_env === undefined), {
    path: ['imap'],
    error: 'either imap or webhook_secret_env is required, but not both',
  })
  .refine(({ access, authserv_id }) => access === 'open' || authserv_id !== undefined, {
    path: ['authserv_id'],
    error: 'is required unless access is open: it authenticates the sender of an email',
  })
  .refine(
    ({ reply_address, token_secret_env }) =>
      (reply_address === undefined) === (token_secret_env === undefined),
    { path: ['reply_address'], error: 'must be set together with token_secret_env' },
  )

const DiscordChannel = z.strictObject({
  platform: z.literal('discord'),
  token_env: envName.describe('holds the token of the bot'),
  groups: z
    .enum(['mention', 'all'])
    .default('mention')
    .describe('messages accepted in servers: mentions of the bot and replies to it, or all'),
  reply_in: z
    .enum(['thread', 'channel'])
    .default('thread')
    .describe('what one conversation is in servers: a thread, or the channel'),
  api_url: z
    .url({ protocol: /^https?$/ })
    .default('https://discord.com/api')
    .describe('URL of the REST API, without its version'),
  ...shared,
})

export const ChannelConfig = z
  .discriminatedUnion('platform', [
    WebhookChannel,
    SlackChannel,
    TelegramChannel,
    WhatsAppChannel,
    WebsiteChannel,
    EmailChannel,
    DiscordChannel,
  ])
  .refine(({ access, agent }) => access !== 'open' || agent !== undefined, {
    path: ['agent'],
    error: 'is required if access is open: unknown senders must not get the default agent by accident',
  })
export type ChannelConfig = z.infer<typeof ChannelConfig>
