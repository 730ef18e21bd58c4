// Loads the exported controller by class_loader, as pluginlib does, and feeds it the ticks of the verified run.
//
//     ros_manager LIBRARY VECTORS NUMBERS: prints what a test looks at
#include <class_loader/class_loader.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include NAME_H
#include "controller_interface/chainable_controller_interface.hpp"

using namespace controller_interface;
using hardware_interface::CommandInterface;
using hardware_interface::LoanedInterface;

int main(int, char **words) {
    class_loader::ClassLoader loader(words[1]);
    const auto classes = loader.getAvailableClasses<ChainableControllerInterface>();
    std::printf("classes %s\n", classes.at(0).c_str());
    auto arm = loader.createUniqueInstance<ChainableControllerInterface>(classes.at(0));
    const rclcpp_lifecycle::State state;
    bool ready = arm->on_init() == CallbackReturn::SUCCESS && arm->on_configure(state) == CallbackReturn::SUCCESS;
    const auto references = arm->export_reference_interfaces();
    std::vector<CommandInterface> measured, commands;
    for (const auto &name : arm->state_interface_configuration().names) measured.emplace_back("", name);
    for (const auto &name : arm->command_interface_configuration().names) commands.emplace_back("", name);
    for (auto &handle : measured) arm->state_interfaces_.emplace_back(&handle);
    for (auto &handle : commands) arm->command_interfaces_.emplace_back(&handle);
    ready = ready && arm->on_activate(state) == CallbackReturn::SUCCESS;
    std::printf("ready %d states %zu %s commands %zu %s references %zu %s\n", ready, measured.size(),
                measured[0].get_name().c_str(), commands.size(), commands[0].get_name().c_str(), references.size(),
                references[0]->get_name().c_str());

    std::ifstream file(words[2], std::ios::binary);
    int64_t head[4];
    file.read(reinterpret_cast<char *>(head), sizeof head);
    IN in;
    OUT out;
    int64_t differing = 0, failed = 0;
    double last = 0.0;
    arm->chained = true;
    const size_t joints = commands.size();
    const auto tick = [&](double period) { return arm->update({}, {period}) == return_type::OK; };
    for (int64_t k = 0; k < head[0]; k++) {
        file.read(reinterpret_cast<char *>(&in), sizeof in);
        file.read(reinterpret_cast<char *>(&out), sizeof out);
        for (size_t j = 0; j < joints; j++) {
            measured[j].value = in.q[j];
            measured[joints + j].value = in.v[j];
            measured[2 * joints + j].value = in.tau[j];
        }
        const double *target = TARGET;
        for (size_t r = 0; r < references.size(); r++) references[r]->value = target[r];
        failed += !tick(in.t - last);
        last = in.t;
        for (size_t j = 0; j < joints; j++) {
            const double sent = out.torque[j] - out.gravity[j]; // a Panda adds gravity by itself
            differing += std::memcmp(&commands[j].value, &sent, 8) != 0;
        }
    }
    std::printf("ticks %lld differing %lld failed %lld\n", (long long)head[0], (long long)differing, (long long)failed);

    // A state that cannot be read: the last command stands for ten ticks, then a ramp to damping ends in ERROR.
    const double held = commands[1].value;
    measured[3].busy = true;
    int good = 0, standing = 0;
    double steepest = 0.0, before = held;
    while (tick(1e-3) && good < 1000) {
        good++;
        standing += commands[1].value == held;
        steepest = std::fmax(steepest, std::fabs(commands[1].value - before));
        before = commands[1].value;
    }
    std::printf("busy standing %d good %d steepest %.3g left %.3g of %.3g\n", standing, good, steepest,
                std::fabs(commands[1].value), std::fabs(held));
    measured[3].busy = false;
    // Without a reference it holds where the arm is; then one comes, is lost, and a command cannot be written.
    ready = arm->on_activate(state) == CallbackReturn::SUCCESS;
    for (size_t j = 0; j < joints; j++) measured[joints + j].value = 0.0;
    bool holds = tick(1e-3);
    for (size_t j = 0; j < joints; j++) holds = holds && std::fabs(commands[j].value) < 1e-9;
    std::printf("activated %d, holds %d\n", ready, holds);
    for (size_t r = 0; r < references.size(); r++) references[r]->value = TARGET[r];
    std::printf("with reference %d", tick(1e-3));
    commands[1].busy = true;
    std::printf(", unwritten %d", tick(1e-3));
    commands[1].busy = false;
    arm->chained = false;
    std::printf(", unchained %d\n", tick(1e-3));
    // Activated while a state cannot be read: no posture is known, nothing is commanded, and ten ticks later it is ended.
    ready = arm->on_activate(state) == CallbackReturn::SUCCESS;
    measured[3].busy = true;
    for (auto &handle : commands) handle.value = 1234.5;
    for (good = 0; tick(1e-3) && good < 1000;) good++;
    bool untouched = true;
    for (auto &handle : commands) untouched = untouched && handle.value == 1234.5;
    std::printf("blind activated %d good %d untouched %d\n", ready, good, untouched);
}
