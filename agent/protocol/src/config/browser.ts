/** The browser of sessions. */
import { z } from 'zod'
import { envName, name } from './names.ts'

export const BrowserConfig = z
  .strictObject({
    enabled: z.boolean().default(true),
    executable: z
      .string()
      .min(1)
      .default('chromium')
      .describe('a program in a folder that sandboxes can read'),
    cdp: z
      .strictObject({ url_env: envName })
      .nullable()
      .default(null)
      .describe('a remote browser: the environment variable that holds its CDP URL'),
    idle_minutes: z.number().positive().default(10).describe('idle time after which a browser is closed'),
    max: z.int().min(1).default(4).describe('max browsers of one runner at a time'),
    memory_mb: z.int().min(256).default(1536).describe('max memory of one browser with all its processes'),
    evaluate: z.boolean().default(false).describe('whether agents may run JavaScript in pages'),
    pdf: z.boolean().default(false).describe('whether agents may save pages as PDF'),
    secrets: z
      .record(name, z.strictObject({ value_env: envName, origins: z.array(z.url()).min(1) }))
      .default({})
      .describe('secrets that an agent can type as {{secret:name}} on these origins but cannot read'),
  })
  .describe('the browser of a session')
export type BrowserConfig = z.infer<typeof BrowserConfig>
