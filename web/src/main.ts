// Where the page begins.

import { mount } from 'svelte'

import App from './App.svelte'
import './app.css'
import { prefetchScreens } from './shell/lazy-screens'
import { theme } from './shell/theme.svelte'
import { app } from './state/app.svelte'

theme.start()
void app.start()
const target = document.getElementById('app')
if (target) mount(App, { target })
prefetchScreens()
