// How the page is built (hashed names, nothing inline, compressed copies beside the files) and served while it is worked on.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// `npm run dev` passes requests on to a daemon that was started with `--auth off`.
const daemon = process.env.OSTLER_URL ?? 'http://127.0.0.1:8787'

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    outDir: 'dist',
    // Small files inlined as data: addresses would be refused by the policy that the page is served with.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: 'es' },
  server: {
    port: 5173,
    proxy: { '/v1': { target: daemon, changeOrigin: true, headers: { origin: daemon } } },
  },
  test: { include: ['src/**/*.test.ts', 'tests/unit/**/*.test.ts'], environment: 'node' },
})
