/** How it looks: as the system says, or as chosen here. */
export type Theme = 'system' | 'light' | 'dark'

export function storedTheme(): Theme {
  const stored = localStorage.getItem('sluice-theme')
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export function applyTheme(theme: Theme = storedTheme()): void {
  localStorage.setItem('sluice-theme', theme)
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  window.dispatchEvent(new Event('sluice-theme'))
}
