/** APIs of other projects that the service offers to their clients. */
import { z } from 'zod'
import { name } from './names.ts'

const ORIGIN = /^https?:\/\/[^/\s?#]+$/

export const CompatConfig = z.strictObject({
  ai_sdk: z
    .boolean()
    .default(true)
    .describe('the chat protocol of the Vercel AI SDK, at /compat/ai-sdk/chat'),
  openai: z
    .boolean()
    .default(true)
    .describe("OpenAI's Responses and Conversations APIs, below /compat/openai/v1"),
  managed_agents: z.boolean().default(true).describe('Claude Managed Agents, below /compat/anthropic/v1'),
  ag_ui: z.boolean().default(true).describe('the AG-UI protocol, at /compat/ag-ui/{agent}'),
  a2a: z
    .strictObject({
      agents: z
        .array(name)
        .default([])
        .describe('agents that other agents may find and call; their cards are public'),
    })
    .prefault({})
    .describe('the Agent2Agent protocol, at /compat/a2a/{agent}'),
  mcp: z.boolean().default(true).describe('an MCP server, at /compat/mcp'),
  origins: z
    .array(z.string().regex(ORIGIN, 'must be an origin such as https://app.example.com'))
    .default([])
    .describe('origins of web pages that may call these APIs from a browser, with a token'),
})
