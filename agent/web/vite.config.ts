import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { chunkGroups, isGroup } from './chunks.ts'

/** The Latin file of the sans is needed by every page, so it is requested along with the style sheet. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle, path }) {
      const font = Object.keys(bundle ?? {}).find(file => /geist-latin-wght-normal[^/]*\.woff2$/.test(file))
      if (font === undefined || !path.endsWith('index.html')) return []
      const attrs = { rel: 'preload', href: `/${font}`, as: 'font', type: 'font/woff2', crossorigin: true }
      return [{ tag: 'link', attrs, injectTo: 'head' }]
    },
  },
}

/** The module of the login form, and its file. */
const LOGIN = 'login-page'
const isLogin = (file: string): boolean => file.includes(`/${LOGIN}-`)

export default defineConfig({
  plugins: [react(), preloadFont],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // light-dark() and oklch() as they are written; nothing is inlined, since the policy allows no data:
    // scripts or fonts.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    // Every supported browser has modulepreload. The first script would list the files of all 190 lazy parts,
    // so a lazy part names its style sheets alone; its scripts are found when it is read. The login form is
    // there when the page has loaded.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (part, dependencies, { hostType }) =>
        hostType === 'html' || isLogin(part)
          ? dependencies
          : dependencies.filter(file => file.endsWith('.css')),
    },
    // Packages of Cairn contain the licences of what is bundled (tooling/release/notices.ts).
    license: { fileName: '.vite/licenses.json' },
    // Mermaid is drawn in a page of its own, with a policy of its own.
    rolldownOptions: {
      input: ['index.html', 'diagram-frame.html', 'src/pwa/service-worker.ts'],
      output: {
        codeSplitting: { groups: chunkGroups },
        // The address of a service worker never changes, and its folder is what it serves.
        entryFileNames: ({ name }) => (name === 'service-worker' ? '[name].js' : 'assets/[name]-[hash].js'),
        // The first script lists the files of every lazy part: short names keep it small.
        chunkFileNames: ({ name }) =>
          isGroup(name) || name === LOGIN ? 'assets/[name]-[hash:7].js' : 'assets/[hash:7].js',
        assetFileNames: ({ names }) =>
          names.some(name => name.endsWith('.css'))
            ? 'assets/[hash:7][extname]'
            : 'assets/[name]-[hash][extname]',
      },
    },
  },
})
