/** Routes for linked accounts, channel connections and deliveries. */
import { z } from 'zod'
import { ChannelForm } from '../config/channel-forms.ts'
import type { Route } from './route.ts'

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
    waiting_since: timestamp.nullable().describe('time of the oldest event that is not processed yet'),
    webhook_path: z.string(),
    origin: z.enum(['config', 'page']).describe('whether cairn.yaml or an administrator created it'),
    removed: z
      .boolean()
      .describe('cairn.yaml created it but no longer names it: it is not running and can be deleted'),
    state_since: timestamp,
  })
  .meta({ id: 'Channel' })
const ChannelSettings = z
  .record(z.string(), z.unknown())
  .describe('as in cairn.yaml, with `platform`, without the names of secrets')
const ChannelSecrets = z
  .record(z.string().regex(/^[a-z_]+(?:\.[a-z_]+)?$/), z.string().min(1).max(8192))
  .describe('write-only, by the keys of the form of the platform')
const ChannelDetail = ChannelView.extend({
  settings: ChannelSettings.describe('empty for a channel that cairn.yaml created'),
  secrets: z.array(z.string()).describe('keys of the secrets that are set'),
}).meta({ id: 'ChannelDetail' })
const SenderView = z
  .object({
    platform_user_id: z.string(),
    name: z.string().nullable(),
    verdict: z.enum(['allowed', 'blocked']).nullable().describe('null: `access` decides'),
    user_id: z.string().nullable().describe('the user that the sender is linked to'),
    last_seen_at: timestamp,
  })
  .meta({ id: 'ChannelSender' })
const DeliveryView = z
  .object({
    id: z.string().describe('the same for every attempt'),
    session_id: z.string().nullable().describe('null: a message of the service that belongs to no session'),
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
    summary: 'Create a code that links your account of a messaging channel; send it there as /link CODE',
    access: 'user',
    alias: false,
    status: 201,
    answer: ChannelLinkCode,
  },
  listChannelLinks: {
    method: 'GET',
    path: '/channel-links',
    summary: 'List your linked accounts of messaging channels',
    access: 'user',
    alias: false,
    status: 200,
    answer: z.object({ links: z.array(ChannelLinkView) }),
  },
  deleteChannelLink: {
    method: 'DELETE',
    path: '/channel-links/{link_id}',
    summary: 'Unlink an account immediately; its next message starts a session that is not yours',
    access: 'user',
    alias: false,
    status: 204,
  },
  listChannels: {
    method: 'GET',
    path: '/admin/channels',
    summary: 'List the connections to messaging channels with their state and last error',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ channels: z.array(ChannelView) }),
  },
  createChannel: {
    method: 'POST',
    path: '/admin/channels',
    errors: ['wrong_state', 'unknown_agent'],
    summary: 'Connect a messaging platform; it is running once its state is live',
    access: 'admin',
    alias: false,
    body: z.strictObject({
      name: z
        .string()
        .max(60)
        .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, dots, dashes and underscores'),
      settings: ChannelSettings,
      secrets: ChannelSecrets.default({}),
    }),
    status: 201,
    answer: ChannelDetail,
  },
  channelForms: {
    method: 'GET',
    path: '/admin/channel-forms',
    summary: 'List the settings and secrets that each platform needs',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ forms: z.array(ChannelForm) }),
  },
  getChannel: {
    method: 'GET',
    path: '/admin/channels/{channel_id}',
    summary: 'Get a connection with its settings, without its secrets',
    access: 'admin',
    alias: false,
    status: 200,
    answer: ChannelDetail,
  },
  changeChannel: {
    method: 'PATCH',
    path: '/admin/channels/{channel_id}',
    summary: 'Change a connection that was created here: replaces all settings, but only the given secrets',
    access: 'admin',
    alias: false,
    body: z.strictObject({ settings: ChannelSettings.optional(), secrets: ChannelSecrets.optional() }),
    status: 200,
    answer: ChannelDetail,
  },
  deleteChannel: {
    method: 'DELETE',
    path: '/admin/channels/{channel_id}',
    summary: 'Delete a connection that was created here; its sessions stay',
    access: 'admin',
    alias: false,
    status: 204,
  },
  enableChannel: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/enable',
    summary: 'Enable a connection that was disabled or rejected',
    access: 'admin',
    alias: false,
    status: 204,
  },
  disableChannel: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/disable',
    summary: 'Disable a connection: no messages are received or sent until it is enabled',
    access: 'admin',
    alias: false,
    status: 204,
  },
  testChannel: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/test',
    summary: 'Send a test message; its delivery reports the result',
    access: 'admin',
    alias: false,
    body: z.strictObject({
      to: z.string().min(1).max(200).describe('id of a conversation on the platform'),
    }),
    status: 202,
    answer: z.object({ delivery_id: z.string() }),
  },
  getDelivery: {
    method: 'GET',
    path: '/admin/channels/{channel_id}/deliveries/{delivery_id}',
    summary: 'Get a delivery: one part of an answer',
    access: 'admin',
    alias: false,
    status: 200,
    answer: DeliveryView,
  },
  listDeliveries: {
    method: 'GET',
    path: '/admin/channels/{channel_id}/deliveries',
    summary: 'List the newest 100 deliveries in a state; default: the failed ones',
    access: 'admin',
    alias: false,
    query: z.object({ state: z.enum(['waiting', 'unknown', 'sent', 'dead']).default('dead') }),
    status: 200,
    answer: z.object({ deliveries: z.array(DeliveryView) }),
  },
  retryDelivery: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/deliveries/{delivery_id}/retry',
    summary: 'Retry a failed delivery and the parts of the same event that follow it',
    access: 'admin',
    alias: false,
    status: 204,
  },
  dropDelivery: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/deliveries/{delivery_id}/drop',
    summary: 'Discard a failed delivery',
    access: 'admin',
    alias: false,
    status: 204,
  },
  listSenders: {
    method: 'GET',
    path: '/admin/channels/{channel_id}/senders',
    summary: 'List the last 100 senders, including rejected ones',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ senders: z.array(SenderView) }),
  },
  judgeSender: {
    method: 'POST',
    path: '/admin/channels/{channel_id}/senders/{sender}/verdict',
    summary: 'Allow or block a sender; messages of a blocked sender are rejected, whatever `access` is',
    access: 'admin',
    alias: false,
    body: z.strictObject({ verdict: z.enum(['allowed', 'blocked']).nullable() }),
    status: 204,
  },
} as const satisfies Record<string, Route>
