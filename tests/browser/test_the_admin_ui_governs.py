"""An operator at a browser says what counts over an agent's code, and who uses and decides."""

import re
import subprocess
import sys
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import PATIENCE_MS, SHOTS
from tests.support.admin_screen import AdminScreen, Desk, OpenAdmin, admin_browsers, keep
from tests.support.dev_process import ROOT, DevProcess, dev_process

CONFIGURATION = "agents/desk/configuration"
ADDRESSES = (CONFIGURATION, "governance", "governance/spend", "governance/audit")


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    broken = tmp_path_factory.mktemp("admin") / "broken"
    roles = {"PROJECT_MANAGE_ROLES": "keeper", "PROJECT_DEPLOY_ROLES": "publisher"}
    env = {"BROKEN_FILE": str(broken), **roles}
    with dev_process(agents=ROOT / "tests/browser/admin_agents", workers=1, env=env) as process:
        yield process.start()


@pytest.fixture(scope="module")
def person(dev: DevProcess) -> Desk:
    return Desk(dev)


@pytest.fixture
def admin(dev: DevProcess) -> Desk:
    """Everything is as coded, and nobody is listed, when a test begins."""
    desk = Desk(dev, role="admin")
    view = desk.call("agents:adminOverrides", agent="desk")
    if view["draft"]:
        desk.call("agents:adminDiscardDraft", agent="desk")
    if view["inForce"]:
        desk.call("agents:adminReset", agent="desk")
    for tool in view["approvers"]:
        desk.call("agents:adminSetApprovers", agent="desk", tool=tool, approvers=None)
    governance = desk.call("agents:adminGovernance")
    for each in governance["agents"]:
        if (each["use"], each["approve"]) != (None, None):
            desk.call("agents:adminSetGovernance", agent=each["agent"], use=None, approve=None)
        if each["manualMinutes"] is not None:
            desk.call("agents:adminSetMinutes", agent=each["agent"], minutes=None)
    if governance["models"] is not None:
        desk.call("agents:adminSetModels", models=None)
    return desk


@pytest.fixture
def open_admin(browser: Browser, dev: DevProcess) -> Iterator[OpenAdmin]:
    with admin_browsers(browser, dev.url, PATIENCE_MS) as open_:
        yield open_


def token_of(dev: DevProcess, user: str, role: str) -> str:
    asked = [sys.executable, "-m", "app.main.cli", "token", "--user", user, "--role", role]
    asked += ["--data-dir", str(dev.data_dir)]
    return subprocess.run(
        asked, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def publish(admin: Desk, note: str, **content: object) -> None:
    admin.call("agents:adminSaveDraft", agent="desk", content=content)
    admin.call("agents:adminPublish", agent="desk", note=note)


def version(tab: AdminScreen, note: str) -> Locator:
    return tab.by("version").filter(has_text=note)


@pytest.mark.req("ADM-01", "ADM-02", "ADM-03", "ADM-05")
def test_a_draft_counts_when_it_is_published_and_every_tab_sees_it(
    person: Desk, admin: Desk, open_admin: OpenAdmin
) -> None:
    tab, other = open_admin(CONFIGURATION), open_admin(CONFIGURATION)
    tab.by("over-instructions").check()
    tab.by("field-instructions").fill("Pay nobody.\n\n- Never guess an amount.\n- Be brief.")
    tab.by("over-autonomy").check()
    expect(tab.by("autonomy-always_ask")).to_be_checked()
    tab.by("over-maxTurns").check()
    tab.by("field-maxTurns").fill("0")
    expect(tab.by("draft-wrong")).to_be_visible()
    tab.by("field-maxTurns").fill("7")
    tab.by("offered-clerk").uncheck()
    tab.by("save-draft").click()
    expect(tab.by("draft-state")).to_contain_text("no effect until it is published")

    before = person.say("Hello before")
    diff = other.by("publish").get_by_test_id("diff")
    expect(diff.locator('[data-field="instructions"] ins')).to_contain_text("Pay nobody.")
    expect(diff.locator('[data-field="autonomy"]')).to_contain_text("Always asks")
    expect(diff.locator('[data-field="maxTurns"]')).to_contain_text("7")
    expect(diff.locator('[data-field="toolsOff"]')).to_contain_text("clerk")
    expect(other.by("in-force")).to_contain_text("The code counts")
    other.by("publish-note").fill("Quieter in December")
    other.by("publish-draft").click()

    for each in (tab, other):
        expect(each.by("in-force")).to_contain_text("counts over the code")
        expect(each.by("publish")).to_have_count(0)
        expect(version(each, "Quieter in December").first).to_contain_text("in force")
    after = person.say("Hello after")
    runs = [admin.call("agents:adminRun", runId=each["runId"]) for each in (before, after)]
    latest = admin.call("agents:adminOverrides", agent="desk")["version"]
    assert runs[1]["run"]["override"] == latest
    assert runs[0]["run"].get("override") != latest


@pytest.mark.req("ADM-02")
def test_a_draft_that_somebody_else_changed_meanwhile_is_not_lost(
    admin: Desk, open_admin: OpenAdmin
) -> None:
    tab, other = open_admin(CONFIGURATION), open_admin(CONFIGURATION)
    for each, turns in ((tab, "5"), (other, "9")):
        each.by("over-maxTurns").check()
        each.by("field-maxTurns").fill(turns)
    tab.by("save-draft").click()
    expect(tab.by("draft-state")).to_contain_text("no effect until it is published")

    expect(other.by("moved")).to_contain_text("dev-admin changed the draft")
    expect(other.by("save-draft")).to_be_disabled()
    expect(other.by("field-maxTurns")).to_have_value("9")
    other.by("keep-mine").click()
    other.by("save-draft").click()
    expect(tab.by("field-maxTurns")).to_have_value("9")

    tab.by("field-maxTurns").fill("3")
    other.by("field-maxTurns").fill("4")
    other.by("save-draft").click()
    tab.by("take-theirs").click()
    expect(tab.by("field-maxTurns")).to_have_value("4")
    tab.by("discard-draft").click()
    expect(other.by("publish")).to_have_count(0)
    expect(other.by("setting-maxTurns")).to_contain_text("As coded")


@pytest.mark.req("ADM-04")
def test_versions_are_compared_put_back_and_reset(admin: Desk, open_admin: OpenAdmin) -> None:
    publish(admin, "First words", instructions="One.\nTwo.\nThree.")
    publish(admin, "Second words", instructions="One.\nZwei.\nThree.", maxTurns=4)
    tab = open_admin(CONFIGURATION)
    second = version(tab, "Second words").first
    second.locator("summary").click()
    lines = second.get_by_test_id("diff").locator("pre")
    expect(lines.locator("del")).to_have_text(re.compile(r"Two\."))
    expect(lines.locator("ins")).to_have_text(re.compile(r"Zwei\."))
    second.get_by_test_id("compare-with").select_option("code")
    expect(lines.locator("del").first).to_contain_text("Pay what you are")

    first = version(tab, "First words").first
    first.locator("summary").click()
    first.get_by_test_id("restore").click()
    first.get_by_test_id("restore-note").fill("Better before")
    first.get_by_test_id("restore-sure").click()
    expect(version(tab, "Better before").first).to_contain_text("in force")
    assert admin.call("agents:adminOverrides", agent="desk")["inForce"] == {
        "instructions": "One.\nTwo.\nThree."
    }

    tab.by("reset").click()
    tab.by("reset-sure").click()
    expect(tab.by("in-force")).to_contain_text("The code counts")
    expect(tab.by("reset")).to_have_count(0)
    expect(tab.by("deed").first).to_contain_text("dev-admin went back to the code")


@pytest.mark.req("ADM-06")
def test_a_model_is_chosen_from_the_list_that_governance_has(
    admin: Desk, open_admin: OpenAdmin
) -> None:
    lists, tab = open_admin("governance"), open_admin(CONFIGURATION)
    tab.by("over-model").check()
    expect(tab.by("field-model")).to_have_attribute("placeholder", "provider:model")
    lists.by("models-some").check()
    lists.by("models-list").fill("demo:\nopenai:gpt-5")
    lists.by("save-models").click()

    expect(lists.by("save-models")).to_have_count(0)
    # It was a field to write into until there was a list to choose from.
    chosen = tab.by("field-model").and_(tab.page.locator("select"))
    chosen.select_option("openai:gpt-5")
    tab.by("save-draft").click()
    expect(tab.by("publish")).to_contain_text("openai:gpt-5")
    tab.by("publish-draft").click()
    expect(tab.by("in-force")).to_contain_text("model")
    lists.by("models-list").fill("demo:")
    lists.by("save-models").click()
    expect(lists.by("save-models-trouble")).to_contain_text("desk (openai:gpt-5)")


@pytest.mark.req("ADM-08")
def test_approvers_are_picked_and_stay_picked_until_the_codes_are_back(
    person: Desk, admin: Desk, open_admin: OpenAdmin
) -> None:
    tab = open_admin(CONFIGURATION)
    pay = tab.page.locator('[data-testid="approvers"][data-tool="pay"]')
    expect(pay).to_contain_text("As coded: dev-admin, treasurer@example.test")
    pay.get_by_test_id("picked-some").check()
    pay.get_by_test_id("picked-list").fill("carla@example.test\n$owner")
    pay.get_by_test_id("save-approvers").click()
    expect(pay.get_by_test_id("save-approvers")).to_have_count(0)
    tab.page.reload()
    expect(pay.get_by_test_id("picked-list")).to_have_value("carla@example.test\n$owner")

    run = person.say("Pay 1 for who decides")
    tab.go()
    expect(tab.approvals(run).get_by_test_id("not-yours")).to_contain_text("carla@example.test")
    tab.go(CONFIGURATION)
    pay.get_by_test_id("picked-none").check()
    pay.get_by_test_id("save-approvers").click()
    expect(tab.by("deed").first).to_contain_text("→ as coded")
    tab.by("nav-inbox").click()
    expect(tab.approvals(run).get_by_test_id("approve")).to_be_enabled()
    admin.call("agents:agentCancel", key=run["sessionId"], runId=run["runId"])


@pytest.mark.req("ACC-08", "ADM-02", "ADM-08")
def test_a_role_may_do_what_it_was_given_and_sees_why_not_the_rest(
    dev: DevProcess, admin: Desk, open_admin: OpenAdmin
) -> None:
    admin.call("agents:adminSaveDraft", agent="desk", content={"maxTurns": 3})
    keeper = open_admin("governance").sign_in(token_of(dev, "kim", "keeper"))
    expect(keeper.by("agent-lists").first.get_by_test_id("use-some")).to_be_enabled()
    expect(keeper.by("nav-runs")).to_have_count(0)
    keeper.visit(CONFIGURATION)
    expect(keeper.by("publish-draft")).to_be_disabled()
    expect(keeper.by("publish").get_by_test_id("needs-permission")).to_contain_text(
        "project:deploy"
    )
    keeper.visit("runs")
    expect(keeper.by("empty")).to_contain_text("for admins")

    publisher = open_admin("governance").sign_in(token_of(dev, "pat", "publisher"))
    expect(publisher.by("needs-permission")).to_contain_text("project:manage")
    expect(publisher.by("agent-lists").first.get_by_test_id("use-some")).to_be_disabled()
    publisher.visit(CONFIGURATION)
    expect(publisher.by("approvers").first.get_by_test_id("picked-some")).to_be_disabled()
    publisher.by("publish-draft").click()
    expect(publisher.by("in-force")).to_contain_text("by pat")
    expect(keeper.by("publish")).to_have_count(0)


@pytest.mark.req("IMP-17", "APR-20")
def test_who_is_off_the_list_may_not_use_an_agent_and_the_audit_says_who_did_it(
    person: Desk, admin: Desk, open_admin: OpenAdmin
) -> None:
    tab, other = open_admin("governance"), open_admin("governance/audit")
    desk = tab.page.locator('[data-testid="agent-lists"][data-agent="desk"]')
    desk.get_by_test_id("use-some").check()
    desk.get_by_test_id("use-list").fill("dev-admin\n\ndora@example.test")
    desk.get_by_test_id("save-lists").click()
    expect(desk.get_by_test_id("save-lists")).to_have_count(0)

    headers = {"authorization": f"Bearer {person.token}"}
    refused = httpx2.post(f"{person.dev.url}/agents/desk", json={"message": "Hi"}, headers=headers)
    assert refused.status_code == 403
    expect(other.by("deed").first).to_contain_text(
        "dev-admin changed who may use it: no list → dev-admin, dora@example.test"
    )
    other.by("filter-agent").select_option("clerk")
    expect(other.page).to_have_url(re.compile(r"governance/audit\?agent=clerk$"))
    expect(other.by("deed")).to_have_count(0)


@pytest.mark.req("IMP-17")
def test_hours_saved_follow_the_minutes_that_somebody_says(
    person: Desk, admin: Desk, open_admin: OpenAdmin
) -> None:
    run = person.say("Hello, and count me")
    tab = open_admin(f"runs/{run['runId']}")
    tab.expect_run("completed")
    tab.go("governance/spend")
    desk = tab.page.locator('[data-testid="agent-spend"][data-agent="desk"]')
    expect(desk.get_by_test_id("spend-facts")).to_contain_text("not known")
    desk.get_by_test_id("minutes").fill("soon")
    expect(desk.get_by_test_id("save-minutes")).to_be_disabled()
    desk.get_by_test_id("minutes").fill("90")
    desk.get_by_test_id("save-minutes").click()

    expect(desk.get_by_test_id("save-minutes")).to_have_count(0)
    spend = admin.call("agents:adminSpend")
    (found,) = (each for each in spend["agents"] if each["agent"] == "desk")
    assert found["hoursSaved"] == found["completed"] * 1.5
    assert found["inputTokens"] + found["outputTokens"] > 0
    expect(desk.get_by_test_id("spend-facts")).to_contain_text(re.compile(r"Hours saved[\d.,]+ h"))
    expect(desk.get_by_test_id("chart-tokens")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pages_of_governance_can_be_read_by_anybody_at_any_width(
    admin: Desk, open_admin: OpenAdmin, width: int
) -> None:
    told = "Pay what you are **told** to pay.\n\n- Never guess.\n- Be brief.\n- Say thanks."
    publish(admin, "First", instructions=told)
    publish(admin, "Asks always", instructions=told, autonomy="always_ask", toolsOff=["clerk"])
    draft = {"instructions": f"{told}\n- And goodbye.", "maxTurns": 5, "model": "openai:gpt-5"}
    admin.call("agents:adminSaveDraft", agent="desk", content=draft)
    picked = ["treasurer@example.test", "$owner"]
    admin.call("agents:adminSetApprovers", agent="desk", tool="pay", approvers=picked)
    admin.call("agents:adminSetGovernance", agent="desk", use=["dev-user"], approve=None)
    admin.call("agents:adminSetMinutes", agent="desk", minutes=12)
    tab = open_admin(width=width)
    found: dict[str, list[str]] = {}
    for address in ADDRESSES:
        tab.page.emulate_media(color_scheme="light")
        tab.visit(address)
        expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
        expect(tab.page.locator(".loading")).to_have_count(0)
        if address == CONFIGURATION:
            version(tab, "Asks always").first.locator("summary").click()
            version(tab, "First").first.locator("summary").click()
            version(tab, "First").first.get_by_test_id("restore").click()
            tab.by("field-maxTurns").fill("6")
            admin.call(
                "agents:adminSaveDraft", agent="desk", content={**draft, "maxTurns": 8 + width % 2}
            )
            expect(tab.by("moved")).to_be_visible()
        tab.expect_no_sideways_scroll()
        name = address.replace("/", "-")
        keep_all(tab, f"{name}-{width}-light")
        wrong = tab.violations()
        tab.page.emulate_media(color_scheme="dark")
        keep_all(tab, f"{name}-{width}-dark")
        if width == 1280:  # the colours are the same at any width
            wrong += tab.violations("color-contrast")
        if wrong:
            found[address] = wrong

    assert found == {}


def keep_all(tab: AdminScreen, name: str) -> None:
    """Keep a picture of the whole page, however long it is."""
    size = tab.page.viewport_size
    assert size is not None
    height = tab.page.evaluate("document.querySelector('main').scrollHeight")
    tab.page.set_viewport_size({"width": size["width"], "height": height + 160})
    keep(tab, SHOTS / "admin", name)
    tab.page.set_viewport_size(size)
