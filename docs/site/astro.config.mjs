// The generator's settings. prepare.ts copies this file beside the content and the sidebar that it writes.
import { readFileSync } from 'node:fs'
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'

/** A table that scrolls can be reached and scrolled with the keyboard. */
const FOCUSABLE_TABLES = `
const update = () => {
  for (const table of document.querySelectorAll('.sl-markdown-content table')) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0
    else table.removeAttribute('tabindex')
  }
}
addEventListener('DOMContentLoaded', update)
addEventListener('resize', update)`

export default defineConfig({
  outDir: '../site',
  trailingSlash: 'always',
  devToolbar: { enabled: false },
  integrations: [
    starlight({
      title: 'Cairn',
      head: [{ tag: 'script', content: FOCUSABLE_TABLES }],
      // Code that is wider than the page is wrapped, so that no block scrolls.
      expressiveCode: { defaultProps: { wrap: true, overridesByLang: { sh: { frame: 'none' } } } },
      customCss: ['./src/styles/site.css'],
      sidebar: JSON.parse(readFileSync(new URL('sidebar.json', import.meta.url), 'utf8')),
    }),
  ],
})
