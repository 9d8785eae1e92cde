import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // light-dark() and oklch() as they are written; nothing is inlined, since the policy allows no data:
    // scripts or fonts.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    // Packages of Cairn contain the licences of what is bundled (tooling/release/notices.ts).
    license: { fileName: '.vite/licenses.json' },
    // Mermaid is drawn in a page of its own, with a policy of its own.
    rolldownOptions: { input: ['index.html', 'diagram-frame.html'] },
  },
})
