import { ropewalk } from "ropewalk/vue";
import { createApp } from "vue";
import App from "./app.vue";
import { client } from "./backend.js";
import "./style.css";

createApp(App).use(ropewalk(client)).mount("#root");
