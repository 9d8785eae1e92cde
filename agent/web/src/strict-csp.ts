/**
 * Must load before zod, which otherwise probes for eval; the content security policy blocks and reports that.
 */
declare global {
  var __zod_globalConfig: { jitless?: boolean } | undefined
}
globalThis.__zod_globalConfig = { ...globalThis.__zod_globalConfig, jitless: true }

export {}
