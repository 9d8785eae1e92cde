/**
 * Loaded before zod: without this it probes for eval, which the content security policy refuses and reports.
 */
declare global {
  var __zod_globalConfig: { jitless?: boolean } | undefined
}
globalThis.__zod_globalConfig = { ...globalThis.__zod_globalConfig, jitless: true }

export {}
