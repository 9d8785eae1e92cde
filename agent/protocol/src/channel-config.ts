/** Configuration of messaging channels and of the AI disclosure. */
import { z } from 'zod'
import { ImapServer, mailAddress, SmtpServer } from './email-config.ts'

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')

export const DISCLOSURE_LEVELS = ['none', 'basic', 'enhanced', 'full'] as const
export type DisclosureLevel = (typeof DISCLOSURE_LEVELS)[number]
export const DISCLOSURE_LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl'] as const
export type DisclosureLanguage = (typeof DISCLOSURE_LANGUAGES)[number]

const DisclosureKeys = z.strictObject({
  level: z.enum(DISCLOSURE_LEVELS).optional().describe('how much people are told of the AI they talk to'),
  operator: z.string().min(1).optional().describe('who runs the service, as people know it'),
  human_contact: z.string().min(1).optional().describe('how a person is reached'),
  privacy_url: z.url().optional(),
  language: z
    .enum(DISCLOSURE_LANGUAGES)
    .optional()
    .describe('where the platform does not say the language of its user; en where nobody says'),
  texts: z
    .partialRecord(
      z.string().regex(/^[a-z]{2}$/, 'must be a language of two letters'),
      z.partialRecord(z.enum(DISCLOSURE_LEVELS), z.string().min(1)),
    )
    .optional()
    .describe('by language and level, in place of the texts that come with the service'),
})
export const DisclosureConfig = DisclosureKeys.extend({
  level: z.enum(DISCLOSURE_LEVELS).default('none'),
  require_confirm: z
    .boolean()
    .default(false)
    .describe('the web UI: messages of people are refused until they have accepted the disclosure'),
})
export type DisclosureConfig = z.infer<typeof DisclosureConfig>

const shared = {
  agent: z.string().optional().describe('absent: the default agent, which strangers do not get'),
  access: z
    .enum(['linked', 'allowlist', 'open'])
    .default('linked')
    .describe('who may speak: accounts that are linked to a user, those and the ones listed, everybody'),
  allow: z.array(z.string().min(1)).default([]).describe('user ids of the platform, for access: allowlist'),
  disclosure: DisclosureKeys.optional().describe('keys of the disclosure that are other for this channel'),
  streaming: z
    .enum(['edits', 'off'])
    .default('edits')
    .describe('whether an answer is shown while it is written, where the platform edits messages'),
  on_unknown: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe('a part of which it is not known whether the platform took it, and that cannot be asked'),
}

function hasCredentials(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}

const WebhookChannel = z.strictObject({
  platform: z.literal('webhook'),
  secret_env: envName.describe('holds whsec_ and the base64 of at least 24 bytes'),
  callback_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    // fetch rejects a URL with credentials, so every attempt would fail.
    .refine(url => !hasCredentials(url), {
      error: 'must not hold a user or password: what comes is signed',
    })
    .describe('where answers go'),
  ...shared,
})

const SlackChannel = z
  .strictObject({
    platform: z.literal('slack'),
    mode: z
      .enum(['events', 'socket'])
      .default('socket')
      .describe('events: Slack calls this server. socket: this server calls Slack, and needs no address'),
    bot_token_env: envName.describe('holds the bot token, xoxb-…'),
    app_token_env: envName.optional().describe('holds the app-level token, xapp-…; for mode: socket'),
    signing_secret_env: envName.optional().describe('holds the signing secret; for mode: events'),
    groups: z
      .enum(['mention', 'all'])
      .default('mention')
      .describe('in channels, what is taken: messages that mention the app, or all'),
    reply_in: z
      .enum(['thread', 'channel'])
      .default('thread')
      .describe('in channels, a conversation is a thread, or the channel'),
    api_url: z
      .url({ protocol: /^https?$/ })
      .default('https://slack.com/api/')
      .transform(url => (url.endsWith('/') ? url : `${url}/`))
      .describe('of the Web API; another for GovSlack'),
    ...shared,
  })
  .refine(({ mode, app_token_env }) => mode !== 'socket' || app_token_env !== undefined, {
    path: ['app_token_env'],
    error: 'must be named for mode: socket',
  })
  .refine(({ mode, signing_secret_env }) => mode !== 'events' || signing_secret_env !== undefined, {
    path: ['signing_secret_env'],
    error: 'must be named for mode: events',
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
    .describe('holds the secret of at least 32 characters with which the site signs who its visitor is'),
  require_confirm: z
    .boolean()
    .default(false)
    .describe('messages are refused until the visitor has accepted the disclosure'),
  per_address_hour: z
    .strictObject({
      visitors_max: countMax(60, 'new visitors'),
      messages_max: countMax(300, 'messages and files'),
      mb_max: countMax(100, 'megabytes of messages and files'),
    })
    .prefault({})
    .describe('what visitors from one address may use within an hour'),
  per_day: z
    .strictObject({
      visitors_max: countMax(5_000, 'new visitors'),
      messages_max: countMax(10_000, 'messages and files'),
      mb_max: countMax(2_000, 'megabytes of messages and files'),
      tokens_max: countMax(20_000_000, 'tokens of the conversations'),
    })
    .prefault({})
    .describe('what all visitors together may use within 24 hours'),
  ...shared,
  access: z.literal('open').describe('visitors are strangers'),
})

const WhatsAppChannel = z.strictObject({
  platform: z.literal('whatsapp'),
  phone_number_id: z.string().regex(/^\d+$/, 'must be the id of the number, in digits'),
  token_env: envName.describe('holds the access token of a system user'),
  app_secret_env: envName.describe('holds the app secret, with which Meta signs'),
  verify_token_env: envName.describe('holds what is entered as verify token at Meta'),
  template: z
    .strictObject({ name: z.string().min(1), language: z.string().min(2) })
    .optional()
    .describe('sent where the person must write first, so that they know'),
  api_url: z
    .url({ protocol: /^https?$/ })
    .default('https://graph.facebook.com/v24.0/')
    .transform(url => (url.endsWith('/') ? url : `${url}/`))
    .describe('of the Graph API, with its version'),
  ...shared,
})

const TelegramChannel = z
  .strictObject({
    platform: z.literal('telegram'),
    token_env: envName.describe('holds the token that @BotFather gave'),
    mode: z
      .enum(['poll', 'webhook'])
      .default('poll')
      .describe('poll: this server asks Telegram, and needs no address. webhook: Telegram calls it'),
    public_url: z
      .url({ protocol: /^https$/, error: 'must be an https URL' })
      .transform(url => url.replace(/\/$/, ''))
      .optional()
      .describe('under which Telegram reaches this server; for mode: webhook'),
    webhook_secret_env: envName
      .optional()
      .describe('holds 1 to 256 letters, digits, _ or -, by which Telegram is known; for mode: webhook'),
    groups: z
      .enum(['mention', 'all'])
      .default('mention')
      .describe('in groups, what is taken: mentions of the bot, replies to it and commands, or all'),
    api_root: z
      .url({ protocol: /^https?$/ })
      .default('https://api.telegram.org')
      .transform(url => url.replace(/\/$/, ''))
      .describe('of the Bot API; another for a server of your own'),
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
    address: mailAddress.describe('to which people write, and from which answers come'),
    imap: ImapServer.optional().describe('where its mailbox is; or webhook_secret_env'),
    webhook_secret_env: envName
      .optional()
      .describe('in place of imap: a mail server calls this one with each mail, signed with this secret'),
    smtp: SmtpServer.describe('takes what goes out'),
    authserv_id: z
      .string()
      .min(1)
      .optional()
      .describe('of the server whose Authentication-Results are believed'),
    reply_address: z
      .string()
      .regex(/^[^@\s]*\{token\}[^@\s]*@[^@\s]+$/, 'must be a mail address with {token} before the @')
      .optional()
      .describe('where answers to mails of this channel go, {token} in it'),
    token_secret_env: envName.optional().describe('holds the secret of at least 32 characters of its tokens'),
    per_second: z.number().positive().default(1).describe('mails that go out within a second'),
    per_hour: z.int().min(1).default(100).describe('mails that go out within an hour'),
    ...shared,
    allow: z.array(mailAddress).default([]).describe('mail addresses, for access: allowlist'),
  })
  .refine(({ imap, webhook_secret_env }) => (imap === undefined) !== (webhook_secret_env === undefined), {
    path: ['imap'],
    error: 'is named, or webhook_secret_env is, and not both',
  })
  .refine(({ access, authserv_id }) => access === 'open' || authserv_id !== undefined, {
    path: ['authserv_id'],
    error: 'must be named unless access is open: nothing else says whose mail it is',
  })
  .refine(
    ({ reply_address, token_secret_env }) =>
      (reply_address === undefined) === (token_secret_env === undefined),
    { path: ['reply_address'], error: 'is named together with token_secret_env' },
  )

const DiscordChannel = z.strictObject({
  platform: z.literal('discord'),
  token_env: envName.describe('holds the token of the bot'),
  groups: z
    .enum(['mention', 'all'])
    .default('mention')
    .describe('in servers, what is taken: mentions of the bot and replies to it, or all'),
  reply_in: z
    .enum(['thread', 'channel'])
    .default('thread')
    .describe('in servers, a conversation is a thread, or the channel'),
  api_url: z
    .url({ protocol: /^https?$/ })
    .default('https://discord.com/api')
    .describe('of the REST API, without its version'),
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
    error: 'must be named where access is open: strangers do not get the default agent by accident',
  })
export type ChannelConfig = z.infer<typeof ChannelConfig>
