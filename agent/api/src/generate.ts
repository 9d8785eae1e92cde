import { openapiText } from './openapi.ts'

/** Repository-relative path → text, for `npm run gen`. */
export const generated = (): Promise<Record<string, string>> =>
  Promise.resolve({ 'docs/openapi.json': openapiText() })
