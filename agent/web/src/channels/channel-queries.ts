/** The queries of the channels page; polled while the page is open. */
import { queryOptions } from '@tanstack/react-query'
import type { AnswerOf } from '@cairn/protocol'
import { client } from '../api.ts'

export type Channel = AnswerOf<'listChannels'>['channels'][number]
type Form = AnswerOf<'channelForms'>['forms'][number]
export type Field = Form['fields'][number]
export type Delivery = AnswerOf<'getDelivery'>

export const channelsQuery = queryOptions({
  queryKey: ['admin', 'channels'],
  queryFn: async ({ signal }) => (await client.call('listChannels', { signal })).channels,
  refetchInterval: 3_000,
})
export const formsQuery = queryOptions({
  queryKey: ['admin', 'channel-forms'],
  queryFn: async ({ signal }) => (await client.call('channelForms', { signal })).forms,
  staleTime: Infinity,
})
export const channelQuery = (id: string) =>
  queryOptions({
    queryKey: ['admin', 'channel', id],
    queryFn: ({ signal }) => client.call('getChannel', { params: { channel_id: id }, signal }),
    staleTime: 0,
  })
export const failedDeliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['admin', 'channels', id, 'dead'],
    queryFn: async ({ signal }) =>
      (await client.call('listDeliveries', { params: { channel_id: id }, query: { state: 'dead' }, signal }))
        .deliveries,
    refetchInterval: 3_000,
  })
export const sendersQuery = (id: string) =>
  queryOptions({
    queryKey: ['admin', 'channels', id, 'senders'],
    queryFn: async ({ signal }) =>
      (await client.call('listSenders', { params: { channel_id: id }, signal })).senders,
    refetchInterval: 10_000,
  })

const SETTLED = ['sent', 'dead', 'dropped', 'held']
/** Polls until the delivery is settled. */
export const deliveryQuery = (id: string, deliveryId: string) =>
  queryOptions({
    queryKey: ['admin', 'channels', id, 'delivery', deliveryId],
    queryFn: ({ signal }) =>
      client.call('getDelivery', { params: { channel_id: id, delivery_id: deliveryId }, signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && SETTLED.includes(state.data.state) ? false : 1_000,
  })
