/**
 * Whatever is in a log, the composed request satisfies the profile of its server; and a server of unknown
 * kind is understood from its refusals. CAIRN_CONVERSATIONS sets the number of conversations.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anthropicBody } from '../src/anthropic-request.ts'
import { createOpenAI } from '../src/openai.ts'
import { openAIBody } from '../src/openai-request.ts'
import { PROFILES, type ServerProfile } from '../src/servers/profiles.ts'
import { MAX_LESSONS } from '../src/call-watched.ts'
import type { Fetch } from '../src/plain-fetch.ts'
import { oddRequest } from './odd-conversations.ts'
import {
  anthropicRejection,
  rejectionOf,
  serverWith,
  STRICT_SERVERS,
  type StrictServer,
} from './strict-servers.ts'
import { outcome } from './wire-server.ts'

const RUNS = Number(process.env['CAIRN_CONVERSATIONS'] ?? 40)
const seeded = (numRuns: number) => ({ numRuns, seed: 38 })

const profileOf = (name: string, { facts }: StrictServer): ServerProfile => ({
  ...((PROFILES as Record<string, ServerProfile>)[name] ?? PROFILES.compatible),
  ...facts,
})

test.each(Object.entries(STRICT_SERVERS))('every conversation is accepted by %s', (name, server) => {
  const profile = profileOf(name, server)
  let rejections = 0
  fc.assert(
    fc.property(oddRequest, request => {
      const body = JSON.parse(openAIBody(request, profile)) as Record<string, unknown>
      const rejection = rejectionOf(server, body)
      if (rejection) rejections++
      expect(rejection).toBeNull()
    }),
    seeded(RUNS),
  )
  if (RUNS > 1000) console.log(`${name}: ${RUNS} conversations, ${rejections} refusals`)
})

const facts: fc.Arbitrary<ServerProfile> = fc
  .record({
    vision: fc.boolean(),
    max_images: fc.constantFrom(null, 1, 2),
    strict_roles: fc.boolean(),
    system_role: fc.constantFrom('system' as const, 'user' as const),
    empty_call_content: fc.constantFrom('null' as const, 'empty' as const),
    tool_name_pattern: fc.constantFrom(
      '^[a-zA-Z0-9_-]{1,64}$',
      '^[a-zA-Z_][a-zA-Z0-9_-]{0,31}$',
      '^[a-z_]{1,20}$',
    ),
    ids: fc.constantFrom(['^[!-~]{1,64}$', 24], ['^[a-zA-Z0-9]{9}$', 9], ['^[a-zA-Z0-9_-]{1,40}$', 24]),
    max_tools: fc.constantFrom(null, 1, 4),
    max_description: fc.constantFrom(null, 20, 1024),
    keeps_reasoning: fc.constantFrom('none' as const, 'turn' as const, 'all' as const),
    thought_signatures: fc.boolean(),
    max_tokens_field: fc.constantFrom('max_tokens' as const, 'max_completion_tokens' as const),
    omitted_fields: fc.subarray(['temperature', 'stream_options', 'stream', 'response_format']),
    omitted_keywords: fc.subarray(['additionalProperties', 'required']),
  })
  .map(({ ids: [pattern, length], ...rest }) => ({
    ...PROFILES.compatible,
    ...rest,
    tool_id_pattern: String(pattern),
    tool_id_length: Number(length),
  }))

/** Promise 7.14: For any log and any profile of a model server, the request satisfies the profile. */
test('any conversation satisfies any profile', () => {
  fc.assert(
    fc.property(oddRequest, facts, (request, profile) => {
      const body = JSON.parse(openAIBody(request, profile)) as Record<string, unknown>
      expect(rejectionOf(serverWith(profile), body)).toBeNull()
    }),
    seeded(RUNS * 5),
  )
})

test("any conversation satisfies Anthropic's rules", () => {
  fc.assert(
    fc.property(oddRequest, fc.boolean(), (request, reasoning) => {
      const profile = PROFILES.anthropic
      const body = anthropicBody(request, { maxTokens: 8000, reasoning, profile })
      expect(anthropicRejection(JSON.parse(JSON.stringify(body)) as Record<string, unknown>)).toBeNull()
    }),
    seeded(RUNS * 2),
  )
})

/** A server that accepts what its checks accept, and then answers. */
function strictFetch(server: StrictServer): { fetch: Fetch; sent: Record<string, unknown>[] } {
  const sent: Record<string, unknown>[] = []
  return {
    sent,
    fetch: (_url, init) => {
      const body = JSON.parse(String(init?.body)) as Record<string, unknown>
      sent.push(body)
      const rejection = rejectionOf(server, body)
      return Promise.resolve(
        rejection === null
          ? Response.json({ choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] })
          : Response.json(rejection.body, { status: rejection.status }),
      )
    },
  }
}

test.each(Object.entries(STRICT_SERVERS))('%s is understood from its refusals alone', async (_, server) => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddRequest, { minLength: 1, maxLength: 3 }), async requests => {
      const { fetch, sent } = strictFetch(server)
      const provider = createOpenAI({ name: 'o', baseUrl: 'http://model.test/v1', fetch })
      for (const request of requests) {
        for (let attempt = 0; ; attempt++) {
          const got = await outcome(provider, request)
          if ('answer' in got) break
          // Every refusal teaches something, so none is repeated.
          expect(got.message).toContain('learned')
          expect(attempt).toBeLessThan(MAX_LESSONS)
        }
      }
      const before = sent.length
      for (const request of requests) expect(await outcome(provider, request)).toHaveProperty('answer')
      // What was learned is remembered: nothing is refused a second time.
      expect(sent.length - before).toBe(requests.length)
    }),
    seeded(Math.ceil(RUNS / 10)),
  )
})
