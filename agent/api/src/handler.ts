/**
 * The type of a handler: a function from a validated call to its answer. Every route of the contract needs
 * one, or the table does not compile.
 */
import type { AnswerOf, ParamsOf, Principal, RouteName, RouteOf } from '@cairn/protocol'
import type { z } from 'zod'
import type { Identity } from './auth/authenticate.ts'
import type { Services } from './deps.ts'
import type { Exchange } from './http/exchange.ts'
import type { HeldKey } from './http/idempotency.ts'

type User = Extract<Principal, { kind: 'user' }>
type PrincipalFor<N extends RouteName> = RouteOf<N>['access'] extends 'public'
  ? null
  : RouteOf<N>['access'] extends 'any'
    ? Principal
    : User
type IdentityFor<N extends RouteName> = RouteOf<N>['access'] extends 'public' ? null : Identity
/** The query after validation. */
type Query<N extends RouteName> =
  RouteOf<N> extends { query: infer Q extends z.ZodType } ? z.output<Q> : Record<never, never>
type Body<N extends RouteName> =
  RouteOf<N> extends { body: infer B extends z.ZodType } ? z.output<B> : undefined

export type Call<N extends RouteName> = {
  services: Services
  principal: PrincipalFor<N>
  identity: IdentityFor<N>
  params: Record<ParamsOf<N>, string>
  query: Query<N>
  body: Body<N>
  exchange: Exchange
  /** Set if the request came with an Idempotency-Key. */
  held: HeldKey | null
}

const JSON_TEXT = Symbol('JSON text')
/** An answer that is JSON text already: stored records are not parsed only to be serialised again. */
export type JsonText = { readonly [JSON_TEXT]: string }
export const jsonText = (text: string): JsonText => ({ [JSON_TEXT]: text })
export const textOf = (answer: unknown): string =>
  typeof answer === 'object' && answer !== null && JSON_TEXT in answer
    ? (answer as JsonText)[JSON_TEXT]
    : JSON.stringify(answer)

/** Streams respond through the exchange; 204 routes return nothing. */
export type Handler<N extends RouteName> = (
  call: Call<N>,
) => Promise<AnswerOf<N> | (RouteOf<N> extends { answer: z.ZodType } ? JsonText : never)>

export type Handlers = { [N in RouteName]: Handler<N> }
