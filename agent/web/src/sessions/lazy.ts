/** What the router loads on demand. The code is bundled with what the page always needs (chunks.ts). */
export { SessionsPage } from './sessions-page.tsx'
