/** Checks of a release: the site of docs/, and the commands that its pages show. */
import { existsSync } from 'node:fs'
import { buildSite, SITE } from '../site/build.ts'
import { checkPages, CHROMIUM } from '../site/check-pages.ts'
import { runPages } from '../site/run-pages.ts'
import { serveFolder } from '../site/serve.ts'
import { NotRun } from './as-user.ts'

export const SITE_CHECKS: Record<string, () => Promise<string>> = {
  async 'site of the documents'() {
    if (!existsSync(CHROMIUM)) throw new NotRun(`${CHROMIUM} is not installed`)
    const { pages, megabytes } = buildSite()
    const { url, server } = await serveFolder(SITE)
    const { lines, failures } = await checkPages(url)
    server.close()
    if (failures.length > 0) throw new Error(failures.join('; '))
    return [`${pages} pages, ${megabytes.toFixed(1)} MB, no dead link`, ...lines].join('; ')
  },
  async 'commands of the documents'() {
    return (await runPages()).join('; ')
  },
}
