// Light, dark, or as the system has it. The page's root carries the outcome, and the colours follow it.

import { keep, recall } from '../state/local-storage'

export type Theme = 'light' | 'dark' | 'system'

class ThemeChoice {
  choice = $state<Theme>(recall<Theme>('theme', 'system'))
  readonly #system = matchMedia('(prefers-color-scheme: dark)')

  start(): void {
    this.#system.addEventListener('change', () => this.#apply())
    this.#apply()
  }

  set(choice: Theme): void {
    this.choice = choice
    keep('theme', choice)
    this.#apply()
  }

  /** Next approval, for a button that goes through them. */
  turn(): void {
    const order: Theme[] = ['system', 'light', 'dark']
    this.set(order[(order.indexOf(this.choice) + 1) % order.length] ?? 'system')
  }

  #apply(): void {
    const isDark = this.choice === 'dark' || (this.choice === 'system' && this.#system.matches)
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
  }
}

export const theme = new ThemeChoice()
