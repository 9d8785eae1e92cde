/** What the router loads on demand. The code is bundled with what the page always needs (chunks.ts). */
export { AppShell } from './app-shell.tsx'
