/** What a row of the route table states. */
import { z } from 'zod'
import type { ErrorCode } from '../errors/errors.ts'

/**
 * Access to a route: `public` needs no credential; `any` a user or service account; `user` a user; `admin` an
 * administrator.
 */
export type Access = 'public' | 'any' | 'user' | 'admin'
export type Route = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path in OpenAPI style, relative to /v1. */
  path: string
  summary: string
  access: Access
  /** Also served under /v1/api. */
  alias: boolean
  /** The route creates something and honours Idempotency-Key. */
  creates?: true
  /** Limit of the body; without it, the limit of the API (contract 4.4). */
  maxBytes?: number
  /** Response keys that are returned once: they are not stored with the Idempotency-Key. */
  shownOnce?: readonly string[]
  query?: z.ZodType
  body?: z.ZodType
  /**
   * Errors of this route, in addition to those that every route of its kind has (api/src/route-errors.ts).
   */
  errors?: readonly ErrorCode[]
  /** Success status, and the shape of the body (none for 204). `stream` responds with text/event-stream. */
  status: 200 | 201 | 202 | 204
  answer?: z.ZodType
  stream?: true
}
