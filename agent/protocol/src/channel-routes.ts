/** Routes for linked accounts, channel connections and deliveries. routes.ts includes them. */
import { z } from 'zod'
import { ChannelForm } from './channel-forms.ts'

const timestamp = z.string()
const count = z.int().nonnegative()

const ChannelLinkView = z
  .object({
    id: z.string(),
    platform: z.string(),
    platform_user_id: z.string(),
    linked_at: timestamp,
  })
  .meta({ id: 'ChannelLink' })
const ChannelLinkCode = z.object({ code: z.string(), expires_at: timestamp }).meta({ id: 'ChannelLinkCode' })
const ChannelView = z
  .object({
    id: z.string(),
    name: z.string(),
    platform: z.string(),
    state: z.string().describe('connecting, live, degraded, conflict, broken or disabled'),
    last_error: z.string().nullable(),
    last_error_at: timestamp.nullable(),
    dead_letters: count,
    last_in_at: timestamp.nullable(),
    last_out_at: timestamp.nullable(),
    waiting_since: timestamp.nullable().describe('of the oldest event that nobody has taken up'),
    webhook_path: z.string(),
    origin: z.enum(['config', 'page']).describe('whether cairn.yaml or an administrator made it'),
    removed: z
      .boolean()
      .describe('cairn.yaml made it and names it no more: nothing runs it, and it may be deleted'),
    state_since: timestamp,
  })
  .meta({ id: 'Channel' })
const ChannelSettings = z
  .record(z.string(), z.unknown())
  .describe('as cairn.yaml has them, with `platform`, without the names of secrets')
const ChannelSecrets = z
  .record(z.string().regex(/^[a-z_]+(?:\.[a-z_]+)?$/), z.string().min(1).max(8192))
  .describe('write-only, by the keys that the form of the platform says')
const ChannelDetail = ChannelView.extend({
  settings: ChannelSettings.describe('empty for a channel of cairn.yaml'),
  secrets: z.array(z.string()).describe('which there are'),
}).meta({ id: 'ChannelDetail' })
const SenderView = z
  .object({
    platform_user_id: z.string(),
    name: z.string().nullable(),
    verdict: z.enum(['allowed', 'blocked']).nullable().describe('null: what `access` says holds'),
    user_id: z.string().nullable().describe('the user whom the sender is linked to'),
    last_seen_at: timestamp,
  })
  .meta({ id: 'ChannelSender' })
const DeliveryView = z
  .object({
    id: z.string().describe('its key, which is the same at every attempt'),
    session_id: z.string().nullable().describe('null: a notice that no session wrote'),
    event_id: count,
    part: count,
    state: z.string(),
    attempts: count,
    error: z.string().nullable(),
    possible_duplicate: z.boolean(),
    updated_at: timestamp,
  })
  .meta({ id: 'Delivery' })

export const CHANNEL_ROUTES = {
  createChannelLink: {
    method: 'POST',
    path: '/channel-links',
    errors: ['wrong_state'],
    summary: 'A code that links an account of a messaging channel to you: send it there as /link CODE',
    access: 'user',
    alias: false,
    status: 201,
    answer: ChannelLinkCode,
  },
  listChannelLinks: {
    method: 'GET',
    path: '/channel-links',
    summary: 'The accounts of messaging channels that are linked to you',
    access: 'user',
    alias: false,
    status: 200,
    answer: z.object({ links: z.array(ChannelLinkView) }),
  },
  deleteChannelLink: {
    method: 'DELETE',
    path: '/channel-links/{link_id}',
    summary: 'Unlink an account at once: its next message begins a session that is not yours',
    access: 'user',
    alias: false,
    status: 204,
  },
  listChannels: {
    method: 'GET',
    path: '/admin/channels',
    summary: 'The connections to messaging channels, and what is wrong with them',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ channels: z.array(ChannelView) }),
  },
  createChannel: {
    method: 'POST',
    path: '/admin/channels',
    errors: ['wrong_state', 'unknown_agent'],
    summary: 'Connect a messaging platform: it is running when its state says so',
    access: 'admin',
    alias: false,
    body: z.strictObject({
      name: z
        .string()
        .max(60)
        .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'letters, digits, dot, dash and underscore only'),
      settings: ChannelSettings,
      secrets: ChannelSecrets.default({}),
    }),
    status: 201,
    answer: ChannelDetail,
  },
  channelForms: {
    method: 'GET',
    path: '/admin/channel-forms',
    summary: 'What each platform needs to be connected',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ forms: z.array(ChannelForm) }),
  },
  getChannel: {
    method: 'GET',
    path: '/admin/channels/{channel_id}',
    summary: 'A connection with its settings, without its secrets',
    access: 'admin',
    alias: false,
    status: 200,
    answer: ChannelDetail,
  },
  changeChannel: {
    method: 'PATCH',
    path: '/admin/channels/{channel_id}',
    summary: 'Change a connection that was made here: its settings as a whole, secrets one by one',
    access: 'admin',
    alias: false,
    body: z.strictObject({ settings: ChannelSettings.optional(), secrets: ChannelSecrets.optional() }),
    status: 200,
    answer: ChannelDetail,
  },
  deleteChannel: {
    method: 'DELETE',
    path: '/admin/channels/{channel_id}',
    summary: 'End a connection that was made here; its sessions stay',
    access: 'admin',
    alias: false,
    status: 204,
  },
  enableChannel: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/enable',
    summary: 'Try a connection anew: what is disabled, or was refused, stays so until then',
    access: 'admin',
    alias: false,
    status: 204,
  },
  disableChannel: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/disable',
    summary: 'Let nothing in or out of a connection until somebody enables it',
    access: 'admin',
    alias: false,
    status: 204,
  },
  testChannel: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/test',
    summary: 'Send a test message; its delivery says what becomes of it',
    access: 'admin',
    alias: false,
    body: z.strictObject({
      to: z.string().min(1).max(200).describe('a conversation, in the platform’s own words'),
    }),
    status: 202,
    answer: z.object({ delivery_id: z.string() }),
  },
  getDelivery: {
    method: 'GET',
    path: '/admin/channels/{channel_id}/deliveries/{delivery_id}',
    summary: 'What became of one part',
    access: 'admin',
    alias: false,
    status: 200,
    answer: DeliveryView,
  },
  listDeliveries: {
    method: 'GET',
    path: '/admin/channels/{channel_id}/deliveries',
    summary: 'The newest hundred parts in a state: dead letters, say',
    access: 'admin',
    alias: false,
    query: z.object({ state: z.enum(['waiting', 'unknown', 'sent', 'dead']).default('dead') }),
    status: 200,
    answer: z.object({ deliveries: z.array(DeliveryView) }),
  },
  retryDelivery: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/deliveries/{delivery_id}/retry',
    summary: 'Send a dead letter again, and what of its event follows it',
    access: 'admin',
    alias: false,
    status: 204,
  },
  dropDelivery: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/deliveries/{delivery_id}/drop',
    summary: 'Give up a dead letter: it is listed no more',
    access: 'admin',
    alias: false,
    status: 204,
  },
  listSenders: {
    method: 'GET',
    path: '/admin/channels/{channel_id}/senders',
    summary: 'The hundred people who wrote last, whether or not they were heard',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ senders: z.array(SenderView) }),
  },
  judgeSender: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/senders/{sender}/verdict',
    summary: 'Allow or block a sender: a blocked one is not heard, whatever `access` says',
    access: 'admin',
    alias: false,
    body: z.strictObject({ verdict: z.enum(['allowed', 'blocked']).nullable() }),
    status: 204,
  },
} as const
