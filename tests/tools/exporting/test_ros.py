"""The exported controller of ros2_control: loaded by class_loader, fed the run's ticks, and starved of values."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from palpate.scenario.file.load import load_scenario
from palpate.tools.exporting import export
from palpate.tools.exporting.code.native import host
from tools.exporting.test_folder import needs, run

HERE, NAME = Path(__file__).parent, "panda_joint_impedance"
INCLUDES = [f"-I/usr/include/{name}" for name in ("class_loader", "pluginlib", "rcutils", "rcpputils")]
KINDS = {"double": "double", "int": "int64_t", "bool": "bool", "string": "std::string",
         "string_array": "std::vector<std::string>", "double_array": "std::vector<double>"}  # fmt: skip


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ros") / "arm"
    export(load_scenario("panda-joint-impedance", ["control.damping=30"]), out, ticks=1000)
    return out


def listed(folder: Path) -> dict:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((folder / "ros2_control" / f"{NAME}_parameters.yaml").read_text())[NAME]


def literal(value: object) -> str:
    if isinstance(value, list):
        return "{" + ", ".join(map(literal, value)) + "}"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)


def struct(name: str, fields: dict) -> str:
    """What generate_parameter_library makes of the YAML: a struct with the defaults. A stub of ours, for this test."""
    lines = []
    for key, each in fields.items():
        if "type" in each:
            lines.append(f"{KINDS[each['type']]} {key} = {literal(each['default_value'])};")
        else:
            lines.append(struct(key.title(), each) + f" {key};")
    return f"struct {name} {{ {' '.join(lines)} }}{';' if name == 'Params' else ''}"


def parameters_header(folder: Path) -> str:
    listing = listed(folder)
    listing["blend"]["default_value"] = 0.0  # the run begins with the law's own torques
    listing["follow_time"]["default_value"] = 0.0  # and its own target
    fields = struct("Params", listing)
    fields = fields.replace("{ std::vector", "{ rclcpp::Time __stamp; std::vector", 1)
    listener = """struct ParamListener {
        explicit ParamListener(const std::shared_ptr<rclcpp::Node> &) {}
        Params get_params() const { return {}; }
        bool try_get_params(Params &) const { return true; }
    };"""
    include = '#include "controller_interface/chainable_controller_interface.hpp"'
    return f"{include}\nnamespace {NAME} {{ {fields} {listener} }}\n"


def test_parameters_have_the_settings_units_and_bounds(controller: Path) -> None:
    fields = listed(controller)
    assert fields["joints"]["default_value"] == [f"joint{i}" for i in range(1, 8)]
    assert fields["target"]["q"]["validation"] == {"fixed_size<>": 7}
    stiffness = fields["gains"]["stiffness"]
    assert stiffness["type"] == "double_array"
    assert len(stiffness["default_value"]) == stiffness["validation"]["fixed_size<>"] == 7
    assert stiffness["validation"]["element_bounds<>"] == [0.0, 10.0 * max(stiffness["default_value"])]
    assert stiffness["description"].startswith("[N·m/rad or N/m] ")


# Checks that generate_parameter_library knows, of those that are written here, as conditions on a default.
CHECKS = {
    "fixed_size<>": lambda value, size: len(value) == size,
    "bounds<>": lambda value, low, high: low <= value <= high,
    "gt_eq<>": lambda value, low: value >= low,
    "lt_eq<>": lambda value, high: value <= high,
    "element_bounds<>": lambda value, low, high: all(low <= x <= high for x in value),
    "lower_element_bounds<>": lambda value, low: all(x >= low for x in value),
    "upper_element_bounds<>": lambda value, high: all(x <= high for x in value),
}
PYTHON = {"double": float, "int": int, "bool": bool, "string": str}


def complaints(name: str, fields: dict) -> list[str]:
    """What is wrong with a listing of parameters by the schema of generate_parameter_library."""
    if not isinstance(fields, dict) or "type" not in fields:
        return [text for key, each in fields.items() for text in complaints(f"{name}.{key}", each)]
    value, element = fields["default_value"], PYTHON[fields["type"].removesuffix("_array")]
    values = value if fields["type"].endswith("_array") else [value]
    wrong = set(fields) - {"type", "default_value", "description", "validation", "read_only"}
    told = [f"{name}: {key} is no key" for key in wrong]
    told += [f"{name}: {x!r} is no {element.__name__}" for x in values if type(x) is not element]
    for check, arguments in fields.get("validation", {}).items():
        given = arguments if isinstance(arguments, list) else [arguments]
        told += [] if CHECKS[check](value, *given) else [f"{name}: {value} is against {check} {given}"]
    return told


def test_parameters_are_such_as_generate_parameter_library_takes(controller: Path, pressing: Path) -> None:
    yaml = pytest.importorskip("yaml")
    assert complaints(NAME, listed(controller)) == []
    other = yaml.safe_load((pressing / "ros2_control" / "fr3_wall_parameters.yaml").read_text())["fr3_wall"]
    assert complaints("fr3_wall", other) == []
    bad = {"a": {"type": "double", "default_value": 1, "validation": {"bounds<>": [2.0, 3.0]}, "unit": "m"}}
    assert len(complaints("x", bad)) == 3


def test_a_panda_s_controller_adds_gravity_whatever_the_scenario_s_driver_does(controller: Path) -> None:
    assert load_scenario("panda-joint-impedance").world.driver.preset == "ideal"
    assert listed(controller)["hardware_adds_gravity"]["default_value"] is True


def test_launch_and_parameter_files_are_sound(controller: Path) -> None:
    yaml = pytest.importorskip("yaml")
    folder = controller / "ros2_control"
    config = yaml.safe_load((folder / "config" / f"{NAME}_controllers.yaml").read_text())
    assert config["controller_manager"]["ros__parameters"]["update_rate"] == 1000
    given = config[f"{NAME}_controller"]["ros__parameters"]
    known = listed(controller)
    assert set(given) - {"type"} <= set(known)
    assert given["hardware_adds_gravity"] is True
    assert given["follow"] is False
    compile((folder / "launch" / f"{NAME}.launch.py").read_text(), "launch", "exec")
    assert known["setup"]["payload_mass"]["validation"]["bounds<>"][0] == 0.0
    assert "<license>Apache-2.0</license>" in (folder / "package.xml").read_text()


def test_the_controller_is_short_and_its_plugin_is_declared(controller: Path) -> None:
    folder = controller / "ros2_control"
    assert len((folder / f"{NAME}_controller.cpp").read_text().splitlines()) < 200
    declared = (folder / f"{NAME}_controller.xml").read_text()
    assert re.search(rf'type="{NAME}_control::Controller"', declared)
    assert 'base_class_type="controller_interface::ChainableControllerInterface"' in declared


@needs("g++")
@pytest.mark.skipif(not Path("/usr/include/class_loader").is_dir(), reason="no libclass-loader-dev")
@pytest.mark.skipif(not Path("/usr/include/pluginlib").is_dir(), reason="no pluginlib-dev")
def test_the_plugin_is_loaded_and_gives_the_bits_of_the_run(controller: Path, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}_parameters.hpp").write_text(parameters_header(controller))
    build = ["g++", "-std=c++17", "-O1", f"-I{tmp_path}", f"-I{HERE / 'stubs'}", f"-I{controller}", *INCLUDES]
    plugin = [str(controller / "ros2_control" / f"{NAME}_controller.cpp"), f"{host().name}/lib{NAME}.a"]
    run(*build, "-Wall", "-shared", "-fPIC", *plugin, "-lclass_loader", "-o", str(tmp_path / "arm.so"), cwd=controller)
    names = {"NAME_H": f'"{NAME}.h"', "IN": f"{NAME}_input", "OUT": f"{NAME}_output", "TARGET": "in.target_q"}
    defines = [f"-D{key}={value}" for key, value in names.items()]
    run(
        *build,
        *defines,
        str(HERE / "ros_manager.cpp"),
        "-lclass_loader",
        "-lconsole_bridge",
        "-o",
        str(tmp_path / "m"),
        cwd=controller,
    )
    shutil.copy(controller / "vectors.bin", tmp_path)
    classes, ready, ticks, busy, lost, last, blind = run("./m", "./arm.so", "vectors.bin", cwd=tmp_path).splitlines()
    assert classes == f"classes {NAME}_control::Controller"
    assert ready.startswith("ready 1 states 21 /joint1/position commands 7 /joint1/effort references ")
    assert ready.endswith(" arm/target_q.0")
    assert ticks == "ticks 1000 differing 0 failed 0"
    standing, good, steepest, left, held = (float(busy.split()[k]) for k in (2, 4, 6, 8, 10))
    assert (standing, good) == (10, 10 + 249)
    assert steepest < 1.0
    assert left < 0.02 * held
    assert lost == "activated 1, holds 1"
    assert last == "with reference 1, unwritten 0, unchained 1"
    assert blind == "blind activated 1 good 10 untouched 1"
