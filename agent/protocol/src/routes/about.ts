/** The route that describes the service. */
import { z } from 'zod'
import type { Route } from './route.ts'

export const ABOUT_ROUTES = {
  about: {
    method: 'GET',
    path: '/about',
    summary: 'Get agents, skills, the disclosure, whether the demo model is in use, and the sandbox',
    access: 'any',
    alias: true,
    status: 200,
    answer: z.object({
      version: z.string(),
      agents: z.array(z.object({ name: z.string(), model: z.string(), description: z.string().optional() })),
      models: z.array(z.string()).describe('models that config.model of a new session may name'),
      skills: z
        .array(z.object({ name: z.string(), description: z.string() }))
        .describe('skills that a message can invoke as /<name>'),
      demo: z.boolean(),
      share_days: z.int().describe('days after which a share link expires; 0: no share links'),
      disclosure: z.object({ level: z.string(), text: z.string().nullable() }),
      sandbox: z
        .object({
          terminal: z.enum(['boxed', 'unboxed', 'not_offered', 'on_workers']),
          network: z
            .enum(['none', 'proxy', 'open'])
            .nullable()
            .describe('what a command can reach on the network'),
          summary: z.string().describe('description for people'),
        })
        .describe('isolation of terminal commands'),
    }),
  },
} as const satisfies Record<string, Route>
