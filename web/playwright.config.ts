// The specs run in Debian's Chromium, against the daemon that was built last.
import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'tests',
  testMatch: '**/*.spec.ts',
  outputDir: 'test-results',
  timeout: 60_000,
  expect: { timeout: 10_000 },
  workers: Number(process.env.OSTLER_SPEC_WORKERS ?? 2),
  fullyParallel: true,
  reporter: [['list']],
  forbidOnly: true,
  // A browser on a busy machine is given a second try; a spec that needed it is named as flaky, and is to be mended.
  retries: 1,
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.OSTLER_CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-dev-shm-usage',
        '--disable-gpu',
        '--host-resolver-rules=MAP elsewhere.test 127.0.0.1',
      ],
    },
  },
})
