// The screens and dialogs that are loaded when they are first needed, and fetched when the browser has nothing else to do, so that
// they are there when the daemon is not.

export const lazyScreens = {
  home: () => import('./Home.svelte'),
  login: () => import('./Login.svelte'),
  palette: () => import('./Palette.svelte'),
  help: () => import('./HelpSheet.svelte'),
  new: () => import('./NewSession.svelte'),
  close: () => import('./CloseSession.svelte'),
  find: () => import('../transcript/FindBar.svelte'),
  found: () => import('./SearchResults.svelte'),
  dashboard: () => import('./Dashboard.svelte'),
  settings: () => import('./Settings.svelte'),
  approvals: () => import('./Approvals.svelte'),
  dock: () => import('../approvals/ApprovalDock.svelte'),
  review: () => import('../review/ReviewPanel.svelte'),
  queue: () => import('../composer/QueueRows.svelte'),
  chips: () => import('../composer/Chips.svelte'),
  undo: () => import('../review/UndoDialog.svelte'),
}

/** Fetches them all, in peace. */
export function prefetchScreens(): void {
  const idle = window.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 2_000))
  idle(() => Object.values(lazyScreens).forEach((load) => void load().catch(() => {})))
}
